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

// laboratory is the CPU that plimsoll itself takes while fio makes a load.
func laboratory() ([]result, error) {
	dir, err := os.MkdirTemp(".", "bench-lab-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	l := &lab.Lab{Catalog: catalog.All(), Version: "bench"}
	source, err := l.Read("storage-aa", []string{"storage.size=128MiB", "measure.blocks=2", "measure.window=5s", "measure.longest=6s"})
	if err != nil {
		return nil, err
	}
	outcome, err := l.Run(context.Background(), lab.Request{Source: *source, Dir: filepath.Join(dir, "run"), Seed: 1})
	if outcome == nil {
		return nil, err
	}
	var shares []float64
	for _, r := range outcome.Input.Records {
		if share, ok := r.Counters["lab.cpu"]; ok {
			shares = append(shares, share)
		}
	}
	if shares == nil {
		return nil, fmt.Errorf("no trial recorded lab.cpu: %w", err)
	}
	return []result{{"CPU of plimsoll during a storage trial", measured.Middle(shares), "limit", .01, "cores"}}, nil
}
