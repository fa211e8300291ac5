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
)

// Running is an Instance: a daemon that launch started, or one that Use found.
type Running struct {
	live    Live
	process *process // nil: it was only used

	mu      sync.Mutex
	stopped bool
}

// Use is an instance that somebody else started: it is only talked to.
func Use(live Live) *Running { return &Running{live: live} }

// Endpoint is where the daemon listens for the protocol.
func (r *Running) Endpoint(protocol string) (load.Endpoint, error) {
	if e, ok := r.live.Endpoints[protocol]; ok {
		e.Private = r.process != nil
		return e, nil
	}
	spoken := slices.Sorted(maps.Keys(r.live.Endpoints))
	return load.Endpoint{}, fmt.Errorf("the service does not speak %s; it speaks %s", protocol, strings.Join(spoken, ", "))
}

// Observed asks the daemon for its settings.
func (r *Running) Observed(ctx context.Context) (map[string]string, error) {
	if r.live.Observe == nil {
		return nil, nil
	}
	observed, err := r.live.Observe(ctx)
	return observed, r.blame(ctx, err)
}

// Counters asks the daemon for its counts.
func (r *Running) Counters(ctx context.Context) (map[string]float64, error) {
	if r.live.Count == nil {
		return nil, nil
	}
	counters, err := r.live.Count(ctx)
	return counters, r.blame(ctx, err)
}

// Unsettled asks the daemon what it still does.
func (r *Running) Unsettled(ctx context.Context) (busy string, known bool, err error) {
	if r.live.Unsettled == nil {
		return "", false, nil
	}
	busy, err = r.live.Unsettled(ctx)
	return busy, err == nil, r.blame(ctx, err)
}

// blame says that the daemon died, where that is why it does not answer.
func (r *Running) blame(ctx context.Context, err error) error {
	if err == nil || r.process == nil || ctx.Err() != nil {
		return err
	}
	if death := r.process.death(); death != nil {
		return death
	}
	return err
}

// Died is why a daemon that was started does not run any more; nil while it runs.
func (r *Running) Died() error {
	if r.process == nil {
		return nil
	}
	return r.process.death()
}

// Stop ends the daemon and removes its folder. Both happen even where the context
// is over; the daemon is then not asked first.
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
		if err := endStrays(clear, env.Machine, env.Dir); err != nil {
			return errors.Join(ended, err)
		}
	}
	if err := removeFolder(clear, env); err != nil {
		return errors.Join(ended, err)
	}
	r.stopped = true
	return ended
}
