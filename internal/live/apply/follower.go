package apply

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"plimsoll/internal/cluster"
	"plimsoll/internal/live"
)

// view is a cluster with the host of each running VM.
type view struct {
	c    *cluster.Cluster
	at   map[string]string
	lost map[string]bool   // hosts whose own control plane does not respond; "" is that of the cluster
	by   map[string]string // originator of a VM's last move, if events tell
}

func newView(c *cluster.Cluster) *view {
	return &view{c: c, at: positions(c), by: map[string]string{}, lost: map[string]bool{}}
}

// positions are the hosts of running VMs.
func positions(c *cluster.Cluster) map[string]string {
	at := make(map[string]string, len(c.VMs))
	for i := range c.VMs {
		if h := c.VMs[i].Host; h != cluster.Nowhere {
			at[c.VMs[i].Name] = c.Hosts[h].Name
		}
	}
	return at
}

// follower follows a live cluster.
type follower struct {
	mu      sync.Mutex
	now     *view // nil before the first step
	failed  error // of the watch
	changed chan struct{}
	stop    context.CancelFunc
	over    chan struct{}
}

// follow watches a cluster until it is closed, even after the end of the context.
func follow(ctx context.Context, source live.Source) *follower {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	e := &follower{changed: make(chan struct{}), stop: stop, over: make(chan struct{})}
	go func() {
		defer close(e.over)
		err := source.Watch(ctx, func(s live.Step) error {
			e.set(func(v *view) {
				v.c, v.at = s.Cluster, positions(s.Cluster)
				for _, event := range s.Events {
					v.take(event)
				}
			})
			return nil
		})
		e.mu.Lock()
		e.failed = errors.Join(err, errors.New("the watch of the cluster has ended"))
		e.mu.Unlock()
		e.set(func(*view) {})
	}()
	return e
}

func (v *view) take(e live.Event) {
	switch e.Kind {
	case live.VMMoved:
		v.by[e.VM] = e.By
	case live.ControlLost:
		v.lost[e.Host] = true
	case live.ControlBack:
		delete(v.lost, e.Host)
	}
}

// blind reports whether the state that a change depends on is unknown.
func (v *view) blind(c Change) bool {
	return v.lost[""] || v.lost[c.From] || v.lost[c.To] || v.lost[c.Host]
}

// set replaces the view, and wakes its waiters.
func (e *follower) set(how func(*view)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	next := view{by: map[string]string{}, lost: map[string]bool{}}
	if e.now != nil {
		next = *e.now
		next.by, next.lost = maps.Clone(next.by), maps.Clone(next.lost)
	}
	if how(&next); next.c != nil {
		e.now = &next
	}
	close(e.changed)
	e.changed = make(chan struct{})
}

// until waits until a view meets a condition. Its error is why none did.
func (e *follower) until(ctx context.Context, such func(*view) bool) error {
	for {
		e.mu.Lock()
		now, failed, changed := e.now, e.failed, e.changed
		e.mu.Unlock()
		if now != nil && such(now) {
			return nil
		}
		if failed != nil {
			return fmt.Errorf("read the cluster: %w", failed)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

func (e *follower) close() {
	e.stop()
	<-e.over
}
