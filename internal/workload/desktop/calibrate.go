package desktop

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"time"

	"plimsoll/internal/workload"
)

const (
	// leastOperation is what an operation takes one session alone at least: a shorter one would gain more than its weight by a
	// load, as one of 6 ms that grows 18-fold.
	leastOperation = 100 * time.Millisecond
	mostRepeats    = 1000
	warmUp         = 3 // loops before those of the base phase
)

// observed is the name of the reference in records, and its file in the folder of the workload.
func (d *desktop) observed() string      { return "desktop.reference." + d.Profile }
func (d *desktop) referenceFile() string { return "reference-" + d.Profile }

// Calibration is how long the base phase takes at most; 0 where its result is there. Trials of a study share the one of the
// first of them, also on other machines, so that their responses have the same weights and the same baseline.
func (d *desktop) Calibration(ctx context.Context, env workload.Env) (time.Duration, error) {
	name := path.Join(folder(env), d.referenceFile())
	if text, err := env.Machine.ReadFile(ctx, name); err == nil {
		if _, err := parseReference(string(text), d.names()); err == nil {
			return 0, nil
		}
	}
	if known := env.Known[d.observed()]; known != "" {
		if _, err := parseReference(known, d.names()); err == nil {
			return 0, env.Machine.WriteFile(ctx, name, []byte(known))
		}
	}
	return time.Duration(d.Base+warmUp) * time.Duration(len(d.loop)) * time.Duration(d.Timeout), nil
}

// Calibrate is the base phase: one session without pauses. It writes down how long each operation takes.
func (d *desktop) Calibrate(ctx context.Context, env workload.Env) (err error) {
	b, err := d.open(ctx, env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	p, err := b.enter(ctx, 0)
	if err != nil {
		return err
	}
	defer p.leave()
	env.Log("base phase: %d loops of one session", d.Base)
	once := make([]int, len(d.loop))
	for i := range once {
		once[i] = 1
	}
	var least []float64 // of the first, which has cold caches, and of two more, which others may disturb
	for range warmUp {
		row, err := d.round(ctx, p, once)
		if err != nil {
			return err
		}
		for i := range least {
			row[i] = min(row[i], least[i])
		}
		least = row
	}
	repeats := d.repeats(least)
	var times [][]float64
	for range d.Base {
		row, err := d.round(ctx, p, repeats)
		if err != nil {
			return err
		}
		times = append(times, row)
	}
	r := newReference(d.names(), repeats, times)
	env.Log("%s", r.describe())
	return writeWhole(filepath.Join(folder(env), d.referenceFile()), r.String())
}

// repeats is how often operations must be done to take long enough, with the time that each takes once.
func (d *desktop) repeats(once []float64) []int {
	all := make([]int, len(once))
	for i, t := range once {
		all[i] = int(min(mostRepeats, max(1, math.Ceil(d.least.Seconds()/t))))
	}
	return all
}

// round does the operations of a loop one after the other and returns how long each took, in seconds.
func (d *desktop) round(ctx context.Context, p *place, repeats []int) ([]float64, error) {
	var times []float64
	for i, o := range d.loop {
		took, err := d.repeat(ctx, p, o, repeats[i])
		if err != nil {
			return nil, fmt.Errorf("base phase: %w", err)
		}
		times = append(times, took.Seconds())
	}
	return times, nil
}

// repeat does an operation so many times, within the time that one may take.
func (d *desktop) repeat(ctx context.Context, p *place, o operation, times int) (time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Duration(d.Timeout), fmt.Errorf("%s took longer than %s: %w", o.name, d.Timeout, context.DeadlineExceeded))
	defer cancel()
	began := time.Now()
	for range times {
		if err := p.perform(ctx, o); err != nil {
			return time.Since(began), err
		}
	}
	return time.Since(began), nil
}

// writeWhole writes a file by a rename.
func writeWhole(name, text string) error {
	if err := os.WriteFile(name+".new", []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}
