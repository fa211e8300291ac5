package fabric

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// LabOptions are the options of a lab.
type LabOptions struct {
	Endpoint Endpoint
	Agents   []string                         // public keys of those that may join
	Lease    time.Duration                    // 0 for the package's default
	Clock    Clock                            // nil for the system's
	Log      func(format string, args ...any) // may be nil
}

// Lab is the side of the fabric that agents join.
type Lab struct {
	bus   bus
	clock Clock
	lease time.Duration
	log   func(string, ...any)
	stop  context.CancelFunc

	allowed map[string]bool // agents, by public key
	key     *Key
	work    sync.WaitGroup

	mu       sync.Mutex
	members  map[string]*member   // joined agents, by public key
	pending  map[string][]*member // not joined, oldest first
	knocking int                  // number of pending sessions
	closed   bool
	noticed  map[string]time.Time // last notice to an agent of an unknown session
	changed  chan struct{}        // closed when members change
}

const (
	// mostPending bounds the unauthenticated sessions of one agent.
	mostPending = 4
	// mostKnocking limits the join requests of all agents.
	mostKnocking = 4096
	// courtesy bounds the time to join.
	courtesy = 15 * time.Second
)

// OpenLab opens the lab's side.
func OpenLab(o LabOptions) (*Lab, error) {
	b, err := dial(o.Endpoint)
	if err != nil {
		return nil, err
	}
	l, err := newLab(o, b)
	if err != nil {
		return nil, errors.Join(err, b.close())
	}
	return l, nil
}

func newLab(o LabOptions, b bus) (*Lab, error) {
	l := &Lab{
		key: o.Endpoint.Key, bus: b, clock: o.Clock, lease: o.Lease, log: o.Log,
		members: map[string]*member{}, pending: map[string][]*member{}, noticed: map[string]time.Time{}, changed: make(chan struct{}), allowed: map[string]bool{},
	}
	for _, agent := range o.Agents {
		l.allowed[agent] = true
	}
	if l.clock == nil {
		l.clock = SystemClock()
	}
	if l.lease <= 0 {
		l.lease = Lease
	}
	if l.log == nil {
		l.log = func(string, ...any) {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	l.stop = cancel
	if err := b.subscribe(UpSubject("*"), l.onFrame); err != nil {
		cancel()
		return nil, err
	}
	l.work.Go(func() { l.watch(ctx) })
	return l, nil
}

// Close ends the sessions of all agents.
func (l *Lab) Close() error {
	l.mu.Lock()
	l.closed = true
	var all []*member
	for _, m := range l.members {
		all = append(all, m)
	}
	for _, p := range l.pending {
		all = append(all, p...)
	}
	l.mu.Unlock()
	cause := errors.New("the lab is shutting down")
	var telling sync.WaitGroup
	for _, m := range all {
		telling.Go(func() {
			if l.has(m) {
				_ = m.tell(control{Leave: cause.Error()})
			}
			l.drop(m, cause)
		})
	}
	telling.Wait()
	l.stop()
	l.work.Wait()
	return l.bus.close()
}

// watch expires leases and retransmits.
func (l *Lab) watch(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.clock.After(min(time.Second, l.lease/4)):
		}
		now := l.clock.Now()
		l.mu.Lock()
		var late, alive []*member
		for _, m := range l.members {
			if now.After(m.until.Add(l.lease / 3)) { // the agent has noticed first
				late = append(late, m)
			} else {
				alive = append(alive, m)
			}
		}
		for _, p := range l.pending {
			for _, m := range p {
				if now.After(m.until) {
					late = append(late, m)
				} else {
					alive = append(alive, m)
				}
			}
		}
		l.mu.Unlock()
		for _, m := range late {
			l.drop(m, errLease)
		}
		for _, m := range alive {
			m.flows.nudge()
		}
	}
}

// agentOf is the token of a subject that names the agent.
func agentOf(subject string) string {
	parts := strings.Split(subject, ".")
	if len(parts) < 2 {
		return ""
	}
	return parts[1]
}

func (l *Lab) onFrame(subject string, data []byte) {
	f, err := decodeFrame(data)
	if err != nil {
		return
	}
	agent := agentOf(subject)
	m := l.find(agent, f.session)
	switch {
	case m != nil:
		m.flows.take(f)
	case f.op == opOpen && f.stream == 0 && IsPublic(agent):
		l.meet(agent, f)
	default:
		l.disown(agent, f.session)
	}
}

// find returns an agent's session, or nil.
func (l *Lab) find(agent string, id sessionID) *member {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := l.members[agent]; m != nil && m.id == id {
		return m
	}
	for _, m := range l.pending[agent] {
		if m.id == id {
			return m
		}
	}
	return nil
}

// meet starts a session, which has to authenticate in time.
func (l *Lab) meet(agent string, f frame) {
	m := l.newMember(agent, f.session)
	m.until = l.clock.Now().Add(courtesy)
	l.mu.Lock()
	p := l.pending[agent]
	if l.closed || len(p) < mostPending && l.knocking >= mostKnocking {
		l.mu.Unlock()
		return
	}
	var former *member
	if len(p) >= mostPending {
		former = p[0]
	}
	l.pending[agent] = append(slices.Clone(p), m)
	l.knocking++
	l.work.Go(func() { l.converse(m) })
	l.mu.Unlock()
	if former != nil {
		l.drop(former, errors.New("the agent has started other sessions"))
	}
	m.flows.take(f)
}

// disown notifies an agent that its session is unknown, as after a restart of the lab, so
// that it need not wait for its lease to expire.
func (l *Lab) disown(agent string, id sessionID) {
	if !l.allowed[agent] {
		return
	}
	now := l.clock.Now()
	l.mu.Lock()
	lately := now.Sub(l.noticed[agent]) < retry
	if !lately {
		l.noticed[agent] = now
	}
	l.mu.Unlock()
	if !lately {
		_ = l.bus.publish(DownSubject(agent), frame{session: id, op: opReset}.encode())
	}
}

// converse handles the control messages of an agent.
func (l *Lab) converse(m *member) {
	c, err := m.hear()
	switch {
	case err != nil:
		l.drop(m, fmt.Errorf("join: %w", err))
		return
	case c.Join == nil:
		l.drop(m, errors.New("no join request"))
		return
	}
	if why := l.objection(m.agent, *c.Join); why != "" {
		l.log("agent %s is refused: %s", m.agent, why)
		_ = m.tell(control{Refused: why})
		return // close it later: the last message must arrive
	}
	l.admit(m, *c.Join)
	for {
		c, err := m.hear()
		if err != nil {
			l.drop(m, err)
			return
		}
		l.take(m, c, l.clock.Now())
	}
}

// objection is the reason why an agent may not join; empty if it may.
func (l *Lab) objection(agent string, j join) string {
	switch {
	case !l.allowed[agent]:
		return "its key is not in the lab's list"
	case j.Version != version:
		return fmt.Sprintf("the agent speaks version %d of the fabric, the lab %d: use the same build", j.Version, version)
	}
	if err := cmp.Or(checkName(j.Name), checkLabels(j.Labels), j.Facts.check()); err != nil {
		return err.Error()
	}
	return ""
}

// take handles a control message of a joined agent.
func (l *Lab) take(m *member, c control, seen time.Time) {
	switch {
	case c.Renew != nil:
		l.mu.Lock()
		m.until = seen.Add(l.lease)
		m.known, m.offset, m.bound = c.Renew.Known, time.Duration(c.Renew.Offset), time.Duration(c.Renew.Error)
		l.mu.Unlock()
		_ = m.tell(control{Renewed: &renewed{
			Sent: c.Renew.Sent, Seen: seen.UnixNano(), Answered: l.clock.Now().UnixNano(), Lease: l.lease,
		}})
	case c.Reset != nil:
		m.reset(*c.Reset)
	case c.Leave != "":
		l.drop(m, fmt.Errorf("the agent left: %s", c.Leave))
	}
}
