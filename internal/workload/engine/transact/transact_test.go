package transact

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/engine"
)

type nothing struct{}

// A trial that cannot begin says why in one line, before any load.
func TestBegin(t *testing.T) {
	over, cancel := context.WithCancelCause(t.Context())
	called := errors.New("called off")
	cancel(called)
	if _, err := (Trial[nothing, nothing]{}).Run(over); !errors.Is(err, called) {
		t.Errorf("canceled: %v", err)
	}
	if _, err := (Trial[nothing, nothing]{}).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "requires a database") {
		t.Errorf("without a service: %v", err)
	}
	away := Trial[nothing, nothing]{Env: workload.Env{Target: func(string) (load.Endpoint, error) {
		return load.Endpoint{Network: "tcp", Address: "127.0.0.1:1", User: "u"}, nil
	}}}
	if _, err := away.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "nothing listens there") {
		t.Errorf("no server: %v", err)
	}
}

func TestReport(t *testing.T) {
	var said string
	out := measure.NewRecorder(nil)
	c := &Running[nothing, nothing]{At: make([]engine.Server, 2), trial: Trial[nothing, nothing]{
		Load: Load{Name: "x", Connections: 3}, Out: out,
		Env: workload.Env{Log: func(format string, args ...any) { said = fmt.Sprintf(format, args...) }},
	}}
	for range 10 { // five of each server, of which two were made again
		c.Ledger.Sheet()
	}
	if err := c.Report(t.Context(), engine.Count{Failures: 2, Why: "no such table"}); err != nil {
		t.Error(err)
	}
	if said != "2 operations failed, the first with: no such table" || out.Observed()["x.connections"] != "3" {
		t.Errorf("%q, %v", said, out.Observed())
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Report(over, engine.Count{}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}
