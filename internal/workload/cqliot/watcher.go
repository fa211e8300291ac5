package cqliot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/cql"
	"plimsoll/internal/measure"
)

// watcher learns from one node after the other how the ring changes during a load, and keeps
// its chart up to date.
type watcher struct {
	nodes []cql.Target
	chart *chart
	ids   []string // of the nodes
	begun time.Time
	stop  context.CancelFunc
	over  chan struct{}
	blind error // why it learns nothing

	mu      sync.Mutex
	others  []cql.Member // in the ring, without an address in the load
	changes []string     // as phrases
}

// watch begins to watch a ring of several nodes. It returns when it has read the ring once.
func (c *trialRun) watch(ctx context.Context) (*watcher, error) {
	w := &watcher{nodes: c.nodes, chart: c.chart, begun: time.Now(), over: make(chan struct{})}
	node, err := w.begin(ctx, w.nodes[0])
	var refused *cql.Fault
	if err != nil && !errors.As(err, &refused) {
		return nil, err
	}
	ctx, w.stop = context.WithCancel(ctx)
	go func() {
		defer close(w.over)
		if w.blind = err; err == nil {
			w.keep(ctx, node)
		}
	}()
	return w, nil
}

// begin registers with a node for events of the ring, and reads the ring from it.
func (w *watcher) begin(ctx context.Context, at cql.Target) (*cql.Conn, error) {
	node, err := cql.Dial(ctx, at)
	if err != nil {
		return nil, err
	}
	if err = node.Watch(ctx); err == nil {
		_, err = w.look(ctx, node)
	}
	if err != nil {
		node.Close()
		return nil, fmt.Errorf("query the ring of the server at %s: %w", at.Address, err)
	}
	return node, nil
}

// A node reports a change before its tables have it: they are read several times.
const (
	looks   = 4
	between = 250 * time.Millisecond
)

// keep watches until the context is over. Where a node fails, it continues with the next one
// in the ring.
func (w *watcher) keep(ctx context.Context, node *cql.Conn) {
	for next := 1 % len(w.nodes); ctx.Err() == nil; next = (next + 1) % len(w.nodes) {
		if node != nil {
			w.hear(ctx, node)
			node.Close()
			node = nil
		}
		if w.chart.now().left(next) {
			continue
		}
		var err error
		if node, err = w.begin(ctx, w.nodes[next]); err != nil {
			node = nil
			pause(ctx, between)
		}
	}
	if node != nil {
		node.Close()
	}
}

// hear reads the ring after each event of a node, until the connection fails.
func (w *watcher) hear(ctx context.Context, node *cql.Conn) {
	for node.Await(ctx) == nil {
		for n := range looks {
			changed, err := w.look(ctx, node)
			if err != nil {
				return
			}
			if changed && n > 0 {
				break
			}
			pause(ctx, between)
		}
	}
}

func pause(ctx context.Context, length time.Duration) {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// look reads the ring from a node, and replaces the chart where it has changed.
func (w *watcher) look(ctx context.Context, node *cql.Conn) (changed bool, err error) {
	members, err := cql.Members(ctx, node)
	if err != nil {
		return false, err
	}
	now := w.chart.now()
	if w.ids == nil {
		w.know(now, members)
	}
	tokens, others := make([]string, len(w.nodes)), []cql.Member{}
	for _, m := range members {
		if n := slices.Index(w.ids, m.ID); n >= 0 {
			tokens[n] = m.Tokens
		} else {
			others = append(others, m)
		}
	}
	w.compare(now, tokens, others)
	if slices.Equal(tokens, now.nodes) {
		return false, nil
	}
	r, err := newRing(tokens)
	if err != nil || len(r.tokens) == 0 { // all nodes of the load have left, and nothing can be done
		return false, err
	}
	w.chart.ring.Store(&r)
	return true, nil
}

// know identifies the nodes, by their tokens at the start of the load.
func (w *watcher) know(now *ring, members []cql.Member) {
	w.ids = make([]string, len(w.nodes))
	for _, m := range members {
		if n := now.node(m.Tokens); n >= 0 {
			w.ids[n] = m.ID
		} else {
			w.others = append(w.others, m)
		}
	}
}

// compare notes the changes.
func (w *watcher) compare(then *ring, tokens []string, others []cql.Member) {
	w.mu.Lock()
	defer w.mu.Unlock()
	note := func(address, what, more string) {
		w.changes = append(w.changes, fmt.Sprintf("%s %s %.1f s after the load began%s", address, what, time.Since(w.begun).Seconds(), more))
	}
	for n, at := range w.nodes {
		switch before, after := then.nodes[n], tokens[n]; {
		case before != "" && after == "":
			note(at.Address, "left it", "")
		case before == "" && after != "":
			note(at.Address, "came back to it", "")
		case before != after:
			note(at.Address, "got another part of it", "")
		}
	}
	same := func(a cql.Member) func(cql.Member) bool { return func(b cql.Member) bool { return a.ID == b.ID } }
	for _, m := range others {
		if !slices.ContainsFunc(w.others, same(m)) {
			note(m.Address, "joined it", ", and no operations are sent there")
		}
	}
	for _, m := range w.others {
		if !slices.ContainsFunc(others, same(m)) {
			note(m.Address, "left it", "")
		}
	}
	w.others = others
}

// end ends the watch.
func (w *watcher) end() {
	w.stop()
	<-w.over
}

// report adds to the certificate whether the ring stayed the same.
func (w *watcher) report(out *measure.Recorder) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.blind != nil:
		out.Check(measure.Check{Name: "ring", State: measure.Unknown, Detail: "whether the ring changed is not known: " + w.blind.Error()})
		return
	case len(w.changes) == 0:
		out.Check(measure.Check{Name: "ring", State: measure.Pass, Detail: fmt.Sprintf("the ring of %d nodes was the same from beginning to end", len(w.nodes)+len(w.others))})
		return
	}
	out.Check(measure.Check{Name: "ring", State: measure.Fail, Detail: "the ring changed while it was measured: " + strings.Join(w.changes, "; ")})
}
