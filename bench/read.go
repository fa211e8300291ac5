package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"plimsoll/bench/measured"
	"plimsoll/internal/catalog"
	"plimsoll/internal/lab"
)

// reading is the time to read the records of a run from disk, judge them and
// write the report. Its limit is the share of what 10,000 trials may take.
func reading() ([]result, error) {
	const trials = 400
	dir, err := os.MkdirTemp(".", "bench-read-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	l := &lab.Lab{Catalog: catalog.All(), Version: "bench"}
	source, err := l.Read("tutorial-aa", []string{fmt.Sprintf("measure.blocks=%d", trials/2), "measure.window=2s", "measure.longest=4s", "measure.warmup=1s"})
	if err != nil {
		return nil, err
	}
	run := filepath.Join(dir, "run")
	if _, err := l.Run(context.Background(), lab.Request{Source: *source, Dir: run, Seed: 1}); err != nil {
		return nil, err
	}
	seconds, err := measured.Median(5, func() error {
		outcome, err := l.Judge(run)
		if err != nil {
			return err
		}
		return outcome.Write()
	})
	return []result{{fmt.Sprintf("%d trials from disk", trials), seconds, "5 s / 10,000 trials", 5. * trials / 10_000, "s"}}, err
}
