// Package watch is a log for operators of a live cluster: load, recommendations with their
// reasons, events, moves without a recommendation, and outcomes of predictions. It reports
// changes, so that a quiet cluster has a quiet log.
package watch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"plimsoll/internal/cluster/doctor"
	"plimsoll/internal/live"
)

// Watcher follows a live cluster.
type Watcher struct {
	Source   live.Source
	Interval time.Duration // between rounds of recommendations
	// Ledger has the rounds so far. With the ledger of an earlier watcher, the new one
	// continues where that ended.
	Ledger *doctor.Ledger
	Tell   func(Line) error
	Enter  func(*doctor.Round) error // stores a round; nil stores none
}

// Run reports until the context ends, which is not an error.
func (w Watcher) Run(ctx context.Context) error {
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	steps, ended := make(chan live.Step), make(chan error, 1)
	var source sync.WaitGroup
	source.Go(func() {
		ended <- w.Source.Watch(within, func(s live.Step) error {
			select {
			case steps <- s:
				return nil
			case <-within.Done():
				return within.Err()
			}
		})
	})
	err := w.follow(within, steps, ended)
	cancel()
	source.Wait() // its objects in the control plane are removed when it returns
	if ctx.Err() != nil && (err == nil || errors.Is(err, ctx.Err())) {
		return nil
	}
	return err
}

// follow processes steps and rounds. The first round is that of the first step.
func (w Watcher) follow(ctx context.Context, steps <-chan live.Step, ended <-chan error) error {
	l := newTeller(w.Ledger)
	tick := time.NewTicker(w.Interval)
	defer tick.Stop()
	for first := true; ; {
		select {
		case s := <-steps:
			if err := w.all(l.step(s)); err != nil {
				return err
			}
			if !first {
				continue
			}
			first = false
		case <-tick.C:
		case err := <-ended:
			return fmt.Errorf("watch the cluster: %w", err)
		case <-ctx.Done():
			return ctx.Err()
		}
		lines, round, err := l.round(time.Now())
		if err != nil {
			return err
		}
		if err := w.all(lines); err != nil {
			return err
		}
		if round != nil && w.Enter != nil {
			if err := w.Enter(round); err != nil {
				return err
			}
		}
	}
}

func (w Watcher) all(lines []Line) error {
	for _, l := range lines {
		if err := w.Tell(l); err != nil {
			return err
		}
	}
	return nil
}
