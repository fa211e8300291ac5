package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"plimsoll/bench/measured"
	"plimsoll/internal/catalog"
	"plimsoll/internal/collect"
	"plimsoll/internal/lab"
	"plimsoll/internal/platforms/local"
)

// sampling is the time of one sample of all collectors.
func sampling() ([]result, error) {
	ctx := context.Background()
	p, err := local.Kind().Open(ctx, nil, 1)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	var reads []collect.Read
	for _, s := range catalog.All().Sources {
		if read, err := s.Open(ctx, collect.Env{Machine: p.Machine(), Dir: os.TempDir()}); err == nil {
			reads = append(reads, read)
		}
	}
	one, err := measured.Median(200, func() error {
		for _, read := range reads {
			if _, err := read(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	return []result{{fmt.Sprintf("one sample of %d collectors", len(reads)), one, "limit", .001, "s"}}, err
}

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
