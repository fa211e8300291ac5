package clustercmd

import (
	"errors"
	"fmt"
	"os"

	"plimsoll/cmd/plimsoll/cli"

	"plimsoll/internal/cluster/scenario"
	"plimsoll/internal/cluster/trace"
)

// readDemand is a scenario by its name, or that of a snapshot with a demand trace.
func readDemand(name, traceFile, length string) (*scenario.Scenario, error) {
	switch {
	case traceFile != "":
		return readTraced(name, traceFile, length)
	case length != "":
		return nil, cli.Mistake(errors.New("--for requires --trace"))
	}
	return readScenario(name)
}

// readTraced is the scenario of a snapshot and the demand trace that follows on it, for a
// time; for all of the trace when none is given.
func readTraced(snapshotFile, traceFile, length string) (*scenario.Scenario, error) {
	cl, err := readCluster(snapshotFile)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(traceFile)
	if err != nil {
		return nil, cli.Mistake(fmt.Errorf("read the trace: %w", err))
	}
	defer f.Close()
	t, err := trace.Read(traceFile, f)
	if err != nil {
		return nil, cli.Mistake(err)
	}
	if err := t.Follows(cl); err != nil {
		return nil, cli.Mistake(fmt.Errorf("%s: %w", traceFile, err))
	}
	seconds := t.Length()
	if length != "" {
		said, err := readTime("--for", length)
		if err != nil {
			return nil, cli.Mistake(err)
		}
		seconds = min(seconds, said)
	}
	if seconds < 60 {
		return nil, cli.Mistake(fmt.Errorf("%s: %d s of a trace are too short: a replay takes at least 60 s", traceFile, seconds))
	}
	s := t.Scenario(cl, seconds/60)
	s.What = "what was traced"
	return s, nil
}
