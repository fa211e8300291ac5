package tile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"plimsoll/internal/plan"
	"plimsoll/internal/platform"
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
	more, err := s.operations(o, members)
	if err != nil {
		return fault.Voids(err)
	}
	all = append(all, more...)
	if len(all) == 0 {
		return work(ctx)
	}
	return s.alongside(ctx, o, all, work)
}

// alongside does all of that while some work runs.
func (s *Services) alongside(ctx context.Context, o *Operations, all []beside, work func(context.Context) error) error {
	o.mu.Lock()
	o.done = map[string][]time.Time{}
	o.mu.Unlock()
	repeated, end := context.WithCancelCause(ctx)
	var each sync.WaitGroup
	var first sync.Once
	var failed error
	for _, do := range all {
		each.Go(func() {
			if err := do(repeated); err != nil && !errors.Is(err, errOver) {
				first.Do(func() { failed = err }) // also of what the end of the load found under way
				end(err)
			}
		})
	}
	err := work(repeated)
	end(errOver)
	each.Wait()
	if failed != nil && ctx.Err() == nil {
		if refused := (*platform.Refused)(nil); errors.As(failed, &refused) {
			return &fault.Refusal{Err: failed}
		}
		return fault.Voids(failed)
	}
	return err
}

// operations are those of each kind, one after the other.
func (s *Services) operations(o *Operations, members machines.Set) (all []beside, err error) {
	for _, kind := range o.Kinds {
		var twin *machines.Member
		if i := slices.IndexFunc(members, func(m *machines.Member) bool { return m.Group.Twin && m.Group.Name == kind.Twin() }); i >= 0 {
			twin = members[i]
		}
		once, err := s.once(o, kind, twin)
		if err != nil {
			return nil, err
		}
		all = append(all, func(ctx context.Context) error { return o.repeat(ctx, kind, once) })
	}
	return all, nil
}

// once is an operation of a kind. The twin is nil for one that makes its own machine.
func (s *Services) once(o *Operations, kind study.Operation, twin *machines.Member) (beside, error) {
	if kind.Kind == study.Restart {
		r := s.of(twin)
		return func(ctx context.Context) error {
			err := r.Start(ctx, o.Arm, alone(twin), o.Block)
			return errors.Join(err, r.Stop(context.WithoutCancel(ctx)))
		}, nil
	}
	by, ok := s.Machines.Platform.(platform.Operator)
	if !ok {
		return nil, fmt.Errorf("%s: this platform has no such operation", kind.Kind)
	}
	like := platform.Group{Name: study.TwinGroup + "-" + kind.Kind, Machines: 1}
	if of := s.Study.Group(kind.Group); of != nil {
		like.Settings = of.Settings
	}
	return func(ctx context.Context) error {
		if twin == nil {
			return by.Operate(ctx, kind.Kind, nil, like)
		}
		if err := by.Operate(ctx, kind.Kind, twin.At.Machine, like); err != nil {
			return err
		}
		return s.answers(ctx, twin)
	}, nil
}

// answers asks the service of a twin for its counters, after an operation on its machine.
func (s *Services) answers(ctx context.Context, twin *machines.Member) error {
	if twin.Group.Service == nil {
		return nil
	}
	if _, err := s.of(twin).Current.Instance.Counters(ctx); err != nil {
		return fmt.Errorf("its service does not answer any more: %w", err)
	}
	return nil
}

// repeat does one operation after the other.
func (o *Operations) repeat(ctx context.Context, kind study.Operation, once beside) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for due := time.Now(); ; {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
		}
		err := once(ctx)
		if ctx.Err() != nil { // in the middle of one
			return context.Cause(ctx)
		}
		if err != nil {
			return fmt.Errorf("%s for group %s: %w", kind.Kind, kind.Group, err)
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
