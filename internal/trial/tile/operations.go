package tile

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"plimsoll/internal/plan"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/fault"
	"plimsoll/internal/trial/machines"
)

// Operations repeat management operations beside a load: of each kind one at a time, on a twin of a machine of a tile.
type Operations struct {
	Kinds []study.Operation
	Arm   plan.Arm
	Block uint64 // seed of services that differ between blocks

	mu      sync.Mutex
	done    map[string][]time.Time // when operations were completed, by kind
	changes []Change
}

// beside is something that is done beside a load until its end. Its error ends the load.
type beside func(ctx context.Context) error

// Alongside does the operations, and changes the servers of elastic members, while some work runs. A failure ends the work and voids
// the trial.
func (s *Services) Alongside(ctx context.Context, o *Operations, members machines.Set, work func(context.Context) error) error {
	all, err := s.elastic(ctx, o, members)
	if err != nil {
		return fault.Voids(err)
	}
	for _, m := range members {
		if m.Group.Twin {
			all = append(all, s.operations(o, m)...)
		}
	}
	if len(all) == 0 {
		return work(ctx)
	}
	o.mu.Lock()
	o.done = map[string][]time.Time{}
	o.mu.Unlock()
	repeated, end := context.WithCancelCause(ctx)
	var each sync.WaitGroup
	for _, do := range all {
		each.Go(func() {
			if err := do(repeated); err != nil && !errors.Is(err, errOver) {
				end(err)
			}
		})
	}
	err = work(repeated)
	end(errOver)
	each.Wait()
	if failed := context.Cause(repeated); failed != nil && !errors.Is(failed, errOver) && ctx.Err() == nil {
		return fault.Voids(failed)
	}
	return err
}

// operations are those of each kind, one after the other, on a twin.
func (s *Services) operations(o *Operations, twin *machines.Member) (all []beside) {
	for _, kind := range o.Kinds {
		all = append(all, func(ctx context.Context) error { return s.repeat(ctx, o, kind, twin) })
	}
	return all
}

// repeat does one operation after the other.
func (s *Services) repeat(ctx context.Context, o *Operations, kind study.Operation, twin *machines.Member) error {
	r := s.of(twin)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for due := time.Now(); ; {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
		}
		err := r.Start(ctx, o.Arm, alone(twin), o.Block)
		err = errors.Join(err, r.Stop(context.WithoutCancel(ctx)))
		if ctx.Err() != nil { // in the middle of one
			return context.Cause(ctx)
		}
		if err != nil {
			return fmt.Errorf("%s of a twin of group %s: %w", kind.Kind, kind.Group, err)
		}
		o.mu.Lock()
		o.done[kind.Kind] = append(o.done[kind.Kind], time.Now())
		o.mu.Unlock()
		due = due.Add(max(kind.Every, time.Since(due)))
		timer.Reset(time.Until(due))
	}
}

// PerHour is how many operations of each kind were completed per hour between two instants.
func (o *Operations) PerHour(from, to time.Time) map[string]float64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	rates := map[string]float64{}
	for _, kind := range o.Kinds {
		n := 0
		for _, at := range o.done[kind.Kind] {
			if at.After(from) && !at.After(to) {
				n++
			}
		}
		rates[kind.Kind] = float64(n) / to.Sub(from).Hours()
	}
	return rates
}
