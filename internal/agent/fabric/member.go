package fabric

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Member is a joined agent.
type Member struct {
	ID     string // public key
	Name   string
	Labels map[string]string
	Facts  Facts
	Joined time.Time
	// Offset is how far the lab's clock is ahead of the agent's, with a bound on its
	// error; Measured is false until it is known.
	Measured      bool
	Offset, Error time.Duration
}

// member is one session of an agent.
type member struct {
	*session
	agent string        // public key
	gone  chan struct{} // closed at the end of the session; cause has the reason
	cause error

	// The fields below are guarded by the lab's lock.
	info          join
	joined, until time.Time
	known         bool
	offset, bound time.Duration
}

func (l *Lab) newMember(agent string, id sessionID) *member {
	m := &member{agent: agent, gone: make(chan struct{})}
	m.session = newSession(id, false,
		func(data []byte) error { return l.bus.publish(DownSubject(agent), data) },
		func(f *flow) *tls.Conn { return l.key.server(f, id, agent) })
	return m
}

// name is the display name of the agent.
func (m *member) name() string { return cmp.Or(m.info.Name, m.agent) }

// has reports whether a session has joined and is the agent's current one.
func (l *Lab) has(m *member) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.members[m.agent] == m
}

// admit makes a session the agent's one.
func (l *Lab) admit(m *member, j join) {
	now := l.clock.Now()
	l.mu.Lock()
	if !l.forget(m) { // it was dropped in the meantime
		l.mu.Unlock()
		return
	}
	former := l.members[m.agent]
	m.info, m.joined, m.until = j, now, now.Add(l.lease)
	l.members[m.agent] = m
	l.mu.Unlock()
	if former != nil {
		l.finish(former, errors.New("the agent joined again"))
	}
	_ = m.tell(control{Welcome: &welcome{Lease: l.lease}})
	l.log("agent %s joined (%s)", m.name(), LabelText(j.Labels))
	l.announce()
}

// forget removes a session from the pending ones. The lock is held.
func (l *Lab) forget(m *member) bool {
	p := l.pending[m.agent]
	i := slices.Index(p, m)
	if i < 0 {
		return false
	}
	l.knocking--
	if p = slices.Delete(slices.Clone(p), i, i+1); len(p) > 0 {
		l.pending[m.agent] = p
	} else {
		delete(l.pending, m.agent)
	}
	return true
}

// drop ends a session.
func (l *Lab) drop(m *member, cause error) {
	l.mu.Lock()
	joined := l.members[m.agent] == m
	if joined {
		delete(l.members, m.agent)
	}
	pending := l.forget(m)
	l.mu.Unlock()
	switch {
	case joined:
		l.log("agent %s is gone: %v", m.name(), cause)
		l.finish(m, cause)
		l.announce()
	case pending:
		l.log("a session in the name of agent %s did not join: %v", m.agent, cause)
		l.finish(m, cause)
	}
}

func (l *Lab) finish(m *member, cause error) {
	m.cause = fmt.Errorf("agent %s: %w", m.name(), cause)
	close(m.gone)
	m.flows.shut(m.cause)
}

// announce wakes all that wait for a change of members.
func (l *Lab) announce() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.changed)
	l.changed = make(chan struct{})
}

// Members lists the agents that have joined, by name.
func (l *Lab) Members() []Member {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.list()
}

func (l *Lab) list() []Member {
	all := make([]Member, 0, len(l.members))
	for _, m := range l.members {
		all = append(all, Member{
			ID: m.agent, Name: m.info.Name, Labels: maps.Clone(m.info.Labels), Facts: m.info.Facts, Joined: m.joined,
			Measured: m.known, Offset: m.offset, Error: m.bound,
		})
	}
	slices.SortFunc(all, func(a, b Member) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	return all
}

// Await returns the agents that have all wanted labels as soon as there are n
// of them.
func (l *Lab) Await(ctx context.Context, wanted map[string]string, n int) ([]Member, error) {
	var fit []Member
	all, err := l.AwaitAll(ctx, func(all []Member) bool {
		fit = slices.DeleteFunc(slices.Clone(all), func(m Member) bool { return !Matches(m.Labels, wanted) })
		return len(fit) >= n
	})
	if err != nil {
		return nil, fmt.Errorf("wait for %d agents with %s: %d have joined, %d of them with those labels: %w",
			n, LabelText(wanted), len(all), len(fit), err)
	}
	return fit, nil
}

// AwaitAll returns the agents that have joined, by name, as soon as enough says that they
// are; it asks again whenever one came or went. When ctx ends first, they come with an error.
func (l *Lab) AwaitAll(ctx context.Context, enough func(all []Member) bool) ([]Member, error) {
	for {
		l.mu.Lock()
		all, changed := l.list(), l.changed
		l.mu.Unlock()
		if enough(all) {
			return all, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return all, context.Cause(ctx)
		}
	}
}

// Dial opens a stream to an agent that has joined.
func (l *Lab) Dial(agent string) (*Stream, error) {
	l.mu.Lock()
	m := l.members[agent]
	l.mu.Unlock()
	if m == nil {
		return nil, fmt.Errorf("agent %s is not joined", agent)
	}
	f, err := m.flows.begin()
	if err != nil {
		return nil, err
	}
	return m.stream(f), nil
}

// Gone is closed when the agent's present session is over; the second result
// then says why. For an agent that is not joined it is closed.
func (l *Lab) Gone(agent string) (<-chan struct{}, func() error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.members[agent]
	if m == nil {
		closed := make(chan struct{})
		close(closed)
		return closed, func() error { return fmt.Errorf("agent %s is not joined", agent) }
	}
	return m.gone, func() error { return m.cause }
}
