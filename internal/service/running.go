package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/service/stray"
)

// Running is an Instance: a daemon started by launch, or a server passed to Use.
type Running struct {
	live    Live
	process *process // nil: it was only used

	mu      sync.Mutex
	stopped bool
}

// Use is an instance that plimsoll did not start.
func Use(live Live) *Running { return &Running{live: live} }

// Endpoint is the daemon's address for the protocol.
func (r *Running) Endpoint(protocol string) (load.Endpoint, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e, ok := r.live.Endpoints[protocol]; ok {
		e.Private = r.process != nil
		return e, nil
	}
	spoken := slices.Sorted(maps.Keys(r.live.Endpoints))
	return load.Endpoint{}, fmt.Errorf("the service does not speak %s; it speaks %s", protocol, strings.Join(spoken, ", "))
}

// Adapt implements Adapter.
func (r *Running) Adapt(ctx context.Context, settings parameter.Settings) error {
	if r.live.Adapt == nil {
		return errors.New("it takes on no settings while it runs")
	}
	at, err := r.live.Adapt(ctx, settings)
	if err != nil {
		return r.blame(ctx, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.live.Endpoints = at
	return nil
}

// Observed reads the daemon's settings.
func (r *Running) Observed(ctx context.Context) (map[string]string, error) {
	if r.live.Observe == nil {
		return nil, nil
	}
	observed, err := r.live.Observe(ctx)
	return observed, r.blame(ctx, err)
}

// Counters reads the daemon's counters.
func (r *Running) Counters(ctx context.Context) (map[string]float64, error) {
	if r.live.Count == nil {
		return nil, nil
	}
	counters, err := r.live.Count(ctx)
	return counters, r.blame(ctx, err)
}

// Unsettled reads the daemon's background work.
func (r *Running) Unsettled(ctx context.Context) (busy string, known bool, err error) {
	if r.live.Unsettled == nil {
		return "", false, nil
	}
	busy, err = r.live.Unsettled(ctx)
	return busy, err == nil, r.blame(ctx, err)
}

// Trouble implements Troubled.
func (r *Running) Trouble(ctx context.Context) error {
	if r.live.Trouble == nil {
		return nil
	}
	return r.live.Trouble(ctx)
}

// blame replaces an error by the daemon's death, if it died.
func (r *Running) blame(ctx context.Context, err error) error {
	if err == nil || r.process == nil || ctx.Err() != nil {
		return err
	}
	if death := r.process.death(); death != nil {
		return death
	}
	return err
}

// Pending implements platform.Disturbed.
func (r *Running) Pending() string { return r.live.Pending }

// Disturb implements platform.Disturbed. It ends with the daemon.
func (r *Running) Disturb(ctx context.Context) (map[string]float64, error) {
	if r.process == nil {
		return r.live.Disturb(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-r.process.ended:
			cancel(r.process.death())
		case <-ctx.Done():
		}
	}()
	return r.live.Disturb(ctx)
}

// Release has the daemon close its connections, each after the response under way.
func (r *Running) Release(ctx context.Context) error {
	if r.live.Release == nil {
		return nil
	}
	return r.blame(ctx, r.live.Release(ctx))
}

// Leave has the daemon end after the responses under way, and waits for that. Its files stay until Stop.
func (r *Running) Leave(ctx context.Context) error {
	if r.live.Leave == nil || r.process == nil {
		return nil
	}
	if err := r.live.Leave(ctx); err != nil {
		return r.blame(ctx, err)
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-r.process.ended:
	case <-timer.C: // Stop ends it
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// Died is why a daemon that was started does not run any more; nil while it runs.
func (r *Running) Died() error {
	if r.process == nil {
		return nil
	}
	return r.process.death()
}

// Stop stops the daemon and removes its folder. It does both even if the context is done,
// without a graceful stop then.
func (r *Running) Stop(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.process == nil || r.stopped {
		return nil
	}
	ended := r.process.end(ctx)
	clear, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	env := r.process.env
	if r.process.killed() {
		if err := stray.End(clear, env.Machine, env.Dir); err != nil {
			return errors.Join(ended, err)
		}
	}
	if err := removeFolder(clear, env); err != nil {
		return errors.Join(ended, err)
	}
	r.stopped = true
	return ended
}
