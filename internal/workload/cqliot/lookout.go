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

// lookout hears from one node after the other how the ring changes while a load is on, and
// keeps its chart.
type lookout struct {
	nodes []cql.Target
	chart *chart
	ids   []string // of the nodes
	begun time.Time
	wake  context.CancelFunc
	over  chan struct{}
	blind error // why it sees nothing

	mu        sync.Mutex
	strangers []cql.Member // in the ring, of whom the load has no address
	changes   []string     // in words
}

// lookOut begins to look out, on a ring of several nodes. It returns when it has seen the
// ring once.
func (c *course) lookOut(ctx context.Context) (*lookout, error) {
	l := &lookout{nodes: c.nodes, chart: c.chart, begun: time.Now(), over: make(chan struct{})}
	node, err := l.begin(ctx, l.nodes[0])
	var refused *cql.Fault
	if err != nil && !errors.As(err, &refused) {
		return nil, err
	}
	ctx, l.wake = context.WithCancel(ctx)
	go func() {
		defer close(l.over)
		if l.blind = err; err == nil {
			l.keep(ctx, node)
		}
	}()
	return l, nil
}

// begin has a node tell what becomes of the ring, and takes the ring from it as it is.
func (l *lookout) begin(ctx context.Context, at cql.Target) (*cql.Conn, error) {
	node, err := cql.Dial(ctx, at)
	if err != nil {
		return nil, err
	}
	if err = node.Watch(ctx); err == nil {
		_, err = l.look(ctx, node)
	}
	if err != nil {
		node.Close()
		return nil, fmt.Errorf("ask the server at %s for its ring: %w", at.Address, err)
	}
	return node, nil
}

// A node tells of a change before its tables have it: they are looked at some times.
const (
	looks   = 4
	between = 250 * time.Millisecond
)

// keep looks out until the context is over. Where a node does not tell any more, the next
// one does that is in the ring.
func (l *lookout) keep(ctx context.Context, node *cql.Conn) {
	for next := 1 % len(l.nodes); ctx.Err() == nil; next = (next + 1) % len(l.nodes) {
		if node != nil {
			l.hear(ctx, node)
			node.Close()
			node = nil
		}
		if l.chart.now().left(next) {
			continue
		}
		var err error
		if node, err = l.begin(ctx, l.nodes[next]); err != nil {
			node = nil
			pause(ctx, between)
		}
	}
	if node != nil {
		node.Close()
	}
}

// hear looks at the ring whenever a node tells something, until it tells no more.
func (l *lookout) hear(ctx context.Context, node *cql.Conn) {
	for node.Await(ctx) == nil {
		for n := range looks {
			changed, err := l.look(ctx, node)
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

// look asks a node for the ring, and draws the chart anew where it is another.
func (l *lookout) look(ctx context.Context, node *cql.Conn) (changed bool, err error) {
	members, err := cql.Members(ctx, node)
	if err != nil {
		return false, err
	}
	now := l.chart.now()
	if l.ids == nil {
		l.know(now, members)
	}
	tokens, strangers := make([]string, len(l.nodes)), []cql.Member{}
	for _, m := range members {
		if n := slices.Index(l.ids, m.ID); n >= 0 {
			tokens[n] = m.Tokens
		} else {
			strangers = append(strangers, m)
		}
	}
	l.compare(now, tokens, strangers)
	if slices.Equal(tokens, now.nodes) {
		return false, nil
	}
	r, err := newRing(tokens)
	if err != nil || len(r.tokens) == 0 { // all have left that the load knows, and nothing can be done
		return false, err
	}
	l.chart.ring.Store(&r)
	return true, nil
}

// know learns who the nodes are, by the tokens that they had when the load began.
func (l *lookout) know(now *ring, members []cql.Member) {
	l.ids = make([]string, len(l.nodes))
	for _, m := range members {
		if n := now.node(m.Tokens); n >= 0 {
			l.ids[n] = m.ID
		} else {
			l.strangers = append(l.strangers, m)
		}
	}
}

// compare takes down in words what has changed.
func (l *lookout) compare(then *ring, tokens []string, strangers []cql.Member) {
	l.mu.Lock()
	defer l.mu.Unlock()
	note := func(address, what, more string) {
		l.changes = append(l.changes, fmt.Sprintf("%s %s %.1f s after the load began%s", address, what, time.Since(l.begun).Seconds(), more))
	}
	for n, at := range l.nodes {
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
	for _, m := range strangers {
		if !slices.ContainsFunc(l.strangers, same(m)) {
			note(m.Address, "joined it", ", and no operations are sent there")
		}
	}
	for _, m := range l.strangers {
		if !slices.ContainsFunc(strangers, same(m)) {
			note(m.Address, "left it", "")
		}
	}
	l.strangers = strangers
}

// end looks out no more.
func (l *lookout) end() {
	l.wake()
	<-l.over
}

// report enters in the certificate whether the ring was the same all the time.
func (l *lookout) report(out *measure.Recorder) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.blind != nil:
		out.Check(measure.Check{Name: "ring", State: measure.Unknown, Detail: "whether the ring changed is not known: " + l.blind.Error()})
		return
	case len(l.changes) == 0:
		out.Check(measure.Check{Name: "ring", State: measure.Pass, Detail: fmt.Sprintf("the ring of %d nodes was the same from beginning to end", len(l.nodes)+len(l.strangers))})
		return
	}
	out.Check(measure.Check{Name: "ring", State: measure.Fail, Detail: "the ring changed while it was measured: " + strings.Join(l.changes, "; ")})
}
