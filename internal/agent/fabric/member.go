package fabric

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Member is an agent that has joined, as the lab sees it.
type Member struct {
	ID     string // public key
	Name   string
	Labels map[string]string
	Facts  Facts
	Joined time.Time
	Until  time.Time // when its lease ends unless it is renewed
	// Offset is how far the lab's clock is ahead of the agent's, with a bound on its
	// error; Measured is false until it is known.
	Measured      bool
	Offset, Error time.Duration
	Trouble       string // the last that the agent reported
}

// member is one session of an agent.
type member struct {
	id      string
	s       *session
	streams *streams
	gone    chan struct{} // closed when the session is over; cause says why
	cause   error

	// What follows is guarded by the lab's lock.
	info          join
	joined, until time.Time
	known         bool
	offset, bound time.Duration
	trouble       string
}

func (l *Lab) newMember(agent string, s *session) *member {
	m := &member{id: agent, s: s, gone: make(chan struct{})}
	m.streams = newStreams(func(f frame) { _ = s.out.send(kindStream, f.encode(), l.publish(m, kindStream)) }, nil)
	return m
}

func (l *Lab) publish(m *member, k kind) func([]byte) error {
	subject := down(m.id, k)
	return func(data []byte) error { return l.bus.publish(subject, data) }
}

func (l *Lab) tell(m *member, c control) {
	if text, err := json.Marshal(c); err == nil && len(text) <= maxControl {
		_ = m.s.out.send(kindControl, text, l.publish(m, kindControl))
	}
}

// admit makes a session the agent's one: its last handshake is complete, so it
// is no replay.
func (l *Lab) admit(m *member, j join, now time.Time) {
	if len(j.Name) > 253 || checkLabels(j.Labels) != nil || j.Spool != "" && !isSpoolName(j.Spool) {
		l.tell(m, control{Leave: "its name or its labels are not allowed"})
		return
	}
	l.mu.Lock()
	former := l.members[m.id]
	if former == m {
		l.mu.Unlock()
		return // said again, because the answer got lost
	}
	delete(l.pending, m.id)
	m.info, m.joined, m.until = j, now, now.Add(l.lease)
	l.members[m.id] = m
	l.mu.Unlock()
	if former != nil {
		l.finish(former, errors.New("the agent joined anew"))
	}
	if l.o.Ledger != nil && j.Spool != "" && j.First > 0 {
		if missed := l.o.Ledger.skip(m.id, j.Spool, j.First); missed > 0 {
			l.log("agent %s: %d earlier records are in another lab's ledger", j.Name, missed)
		}
	}
	l.log("agent %s joined (%s)", cmp.Or(j.Name, m.id), LabelText(j.Labels))
	l.announce()
}

// drop marks a session as gone.
func (l *Lab) drop(m *member, cause error) {
	l.mu.Lock()
	found := l.members[m.id] == m
	if found {
		delete(l.members, m.id)
	}
	l.mu.Unlock()
	if found {
		l.log("agent %s is gone: %v", cmp.Or(m.info.Name, m.id), cause)
		l.finish(m, cause)
		l.announce()
	}
}

func (l *Lab) finish(m *member, cause error) {
	m.cause = fmt.Errorf("agent %s: %w", cmp.Or(m.info.Name, m.id), cause)
	close(m.gone)
	m.streams.shut(m.cause)
}

// announce wakes those who wait for a change of members.
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
			ID: m.id, Name: m.info.Name, Labels: maps.Clone(m.info.Labels), Facts: m.info.Facts, Joined: m.joined, Until: m.until,
			Measured: m.known, Offset: m.offset, Error: m.bound, Trouble: m.trouble,
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
	return m.streams.begin()
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

// arrival is a record on its way into the ledger.
type arrival struct {
	from   *member
	record Record
}

func (l *Lab) onRecord(subject string, data []byte) {
	m, text := l.opened(kindRecord, subject, data)
	if m == nil || len(text) < 8 || l.o.Ledger == nil || m.info.Spool == "" || !json.Valid(text[8:]) {
		return
	}
	select {
	case l.queue <- arrival{m, Record{Agent: m.id, Spool: m.info.Spool, Number: binary.BigEndian.Uint64(text), Data: text[8:]}}:
	default: // the agent sends it again
	}
}

// keepRecords writes records to the ledger, those that have piled up together, and
// then tells their agents.
func (l *Lab) keepRecords(ctx context.Context) {
	for {
		var batch []arrival
		select {
		case <-ctx.Done():
			return
		case a := <-l.queue:
			batch = append(batch, a)
		}
		for size := 0; len(l.queue) > 0 && size < 8<<20; {
			a := <-l.queue
			size += len(a.record.Data)
			batch = append(batch, a)
		}
		records := make([]Record, len(batch))
		from := map[*member]bool{}
		for i, a := range batch {
			records[i] = a.record
			from[a.from] = true
		}
		if err := l.o.Ledger.Append(records); err != nil {
			l.log("records of agents cannot be kept and stay with them: %v", err)
			continue
		}
		for m := range from {
			number := binary.BigEndian.AppendUint64(nil, l.o.Ledger.Last(m.id, m.info.Spool))
			_ = m.s.out.send(kindRecord, number, l.publish(m, kindRecord))
		}
	}
}
