package tile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"plimsoll/internal/hoststat/trace"
	"plimsoll/internal/service"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/machines"
)

// Change is a change of the number of servers of a member of a tile.
type Change struct {
	Machine  string
	Due      time.Time // by the schedule
	From, To time.Time // from the begin of the change until it was done
	Was, Now int       // servers
}

// Added are servers that started, removed ones negative.
func (c Change) Added() int { return c.Now - c.Was }

// event is the change in the course of a host, in seconds since the load began.
func (c Change) event(began time.Time) trace.Event {
	kind := "server added"
	if c.Added() < 0 {
		kind = "server removed"
	}
	return trace.Event{From: c.From.Sub(began).Seconds(), To: c.To.Sub(began).Seconds(), Kind: kind, Name: c.Machine, Value: float64(c.Now), Unit: "servers"}
}

// elastic has the first number of servers of every elastic member, and returns what changes it then by its schedule.
func (s *Services) elastic(ctx context.Context, o *Operations, members machines.Set) (all []beside, err error) {
	for _, m := range members {
		e := m.Group.Elastic
		if e == nil || m.Group.Twin {
			continue
		}
		fleet, err := s.of(m).Scaler()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Name, err)
		}
		if err := fleet.Scale(ctx, e.At(0)); err != nil {
			return nil, fmt.Errorf("%s: have %d servers: %w", m.Name, e.At(0), err)
		}
		all = append(all, func(ctx context.Context) error { return o.scale(ctx, m.Name, fleet, e) })
	}
	return all, nil
}

// scale has one number of servers after the other, at fixed instants. A change that takes longer than a step is late for the next.
func (o *Operations) scale(ctx context.Context, machine string, fleet service.Scaler, e *study.Elastic) error {
	began := time.Now()
	timer := time.NewTimer(e.Every)
	defer timer.Stop()
	for step := 1; ; step++ {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
		}
		if ctx.Err() != nil { // a timer that is late is due as well
			return context.Cause(ctx)
		}
		c := Change{Machine: machine, Due: began.Add(time.Duration(step) * e.Every), From: time.Now(), Was: e.At(step - 1), Now: e.At(step)}
		if c.Was != c.Now {
			if err := change(ctx, fleet, c.Now); err != nil {
				return fmt.Errorf("%s: from %d to %d servers: %w", machine, c.Was, c.Now, err)
			}
			c.To = time.Now()
			o.mu.Lock()
			o.changes = append(o.changes, c)
			o.mu.Unlock()
		}
		timer.Reset(time.Until(began.Add(time.Duration(step+1) * e.Every)))
	}
}

// change has so many servers. It is completed also when the load ends meanwhile: half a change would leave nothing that runs.
func change(ctx context.Context, fleet service.Scaler, servers int) error {
	whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), longestChange)
	defer cancel()
	return fleet.Scale(whole, servers)
}

// longestChange is how long a change of the number of servers may take.
const longestChange = 2 * time.Minute

// Changes are those of the numbers of servers so far.
func (o *Operations) Changes() []Change {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]Change(nil), o.changes...)
}

// Happened is what was done to the members, as events of the course of a host in seconds since the load began.
func (o *Operations) Happened(began time.Time) (all []trace.Event) {
	for _, c := range o.Changes() {
		all = append(all, c.event(began))
	}
	return all
}

// errOver ends what is done beside a load with the load.
var errOver = errors.New("the load is over")
