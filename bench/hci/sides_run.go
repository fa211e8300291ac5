package hci

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"plimsoll/bench/causes/scene"
	"plimsoll/internal/catalog"
	"plimsoll/internal/finding"
	"plimsoll/internal/lab"
	"plimsoll/internal/measure"
	"plimsoll/internal/trial"
)

// find runs a study with the limit, or judges its results again, and returns the explanations and the records.
func (o settings) find(ctx context.Context, l limit, seed uint64) (found []finding.Explanation, records []measure.Record, err error) {
	kept := ""
	if o.keep != "" {
		kept = filepath.Join(o.keep, fmt.Sprintf("%s-%d", strings.ReplaceAll(l.name, "/", ""), seed))
	}
	if o.again {
		outcome, err := (&lab.Lab{Catalog: catalog.All(), Version: "bench"}).Judge(kept)
		if err != nil {
			return nil, nil, err
		}
		return outcome.Findings.Explanations, outcome.Input.Records, nil
	}
	s, err := scene.New(ctx, os.Args[0], nil, seed, true)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	outcome, err := l.measure(ctx, s, seed)
	if err == nil && len(outcome.Findings.Void) == outcome.Findings.Trials {
		err = fmt.Errorf("no valid trial: %s", outcome.Findings.Void[0].Cause)
	}
	if err == nil {
		err = complete(outcome.Input.Records)
	}
	if err == nil && kept != "" {
		err = keep(s.Path("results"), kept)
	}
	if err != nil {
		return nil, nil, err
	}
	return outcome.Findings.Explanations, outcome.Input.Records, nil
}

// measure runs the study in the folder of a scene, and makes the limit right before the first load: a cluster that is limited from the start takes
// minutes to start, and counters are those of the whole load.
func (l limit) measure(ctx context.Context, s *scene.Scene, seed uint64) (*lab.Outcome, error) {
	file, dir := s.Path("side.yaml"), s.Path("results")
	if err := os.WriteFile(file, []byte(l.study()), 0o600); err != nil {
		return nil, err
	}
	plant := sync.OnceValue(func() error { return l.plantIn(ctx, s, dir) })
	bench := &lab.Lab{Catalog: catalog.All(), Version: "bench"}
	run, cancel := context.WithCancel(ctx)
	defer cancel()
	bench.Progress = func(e trial.Event) {
		if e.Phase == trial.PhaseWarmUp && plant() != nil {
			cancel()
		}
	}
	source, err := bench.Read(file, nil)
	if err != nil {
		return nil, err
	}
	outcome, err := bench.Run(run, lab.Request{Source: *source, Dir: dir, Seed: seed})
	return outcome, errors.Join(plant(), err)
}

// plantIn makes the limit in a study that runs.
func (l limit) plantIn(ctx context.Context, s *scene.Scene, results string) error {
	if l.plant == nil {
		return nil
	}
	c, err := clusterOf(ctx, results, 3)
	if err != nil {
		return err
	}
	return l.plant(s, c)
}

// keep copies the results of a run, without its scratch folder.
func keep(from, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		rest, _ := filepath.Rel(from, name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && rest == "scratch":
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rest), 0o755)
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return fmt.Errorf("keep the results of a run: %w", err)
		}
		return os.WriteFile(filepath.Join(to, rest), text, 0o644)
	})
}

// mostOthers is the share of the CPUs that other work of the host may use: with more, that is what limits the cluster.
const mostOthers = 0.5

// complete fails if a valid trial cannot tell: the host was too busy to read the threads of the OSDs, or with other work.
func complete(records []measure.Record) error {
	for i := range records {
		r := &records[i]
		if !r.Valid() {
			continue
		}
		if _, read := r.Counters["processes.service.run_delay"]; !read {
			return fmt.Errorf("trial %d has no counters of the threads of the OSDs: the host was too busy", r.Trial)
		}
		if others, cpus := r.Counters["processes.others.cpu"], r.Counters["cpu.count"]; cpus > 0 && others > mostOthers*cpus {
			return fmt.Errorf("trial %d ran beside other work, which used %.2f of %.0f CPUs", r.Trial, others, cpus)
		}
	}
	return nil
}
