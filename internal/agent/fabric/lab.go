package fabric

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// LabOptions say where a lab listens to its agents, and what it takes from them.
type LabOptions struct {
	Endpoint Endpoint
	Allowed  func(agent string) bool           // by public key; nil allows none
	Ledger   *Ledger                           // where records go; without one agents keep them
	Sample   func(agent string, sample []byte) // called for each, one after the other; may be nil
	Lease    time.Duration                     // zero takes the package's
	Clock    Clock                             // nil takes the system's
	Log      func(format string, args ...any)  // may be nil
}

// Lab is the side of the fabric that agents join.
type Lab struct {
	o     LabOptions
	bus   bus
	clock Clock
	lease time.Duration
	log   func(string, ...any)
	stop  context.CancelFunc
	work  sync.WaitGroup
	queue chan arrival // of records

	mu      sync.Mutex
	members map[string]*member    // that have joined, by public key
	pending map[string][]*member  // whose handshake is not complete
	noticed map[string]time.Time  // when an agent was last told that its session is gone
	changed chan struct{}         // closed when members change
	orders  uint64                // given so far
	waiting map[uint64]*gathering // orders whose reports are awaited
}

// mostPending is how many handshakes of one agent are kept open at once.
const mostPending = 4

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
		o: o, bus: b, clock: o.Clock, lease: o.Lease, log: o.Log, queue: make(chan arrival, 4096),
		members: map[string]*member{}, pending: map[string][]*member{}, noticed: map[string]time.Time{},
		changed: make(chan struct{}), waiting: map[uint64]*gathering{},
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
	for k, f := range map[kind]func(string, []byte){
		kindHello:   l.onHello,
		kindControl: l.onControl,
		kindRecord:  l.onRecord,
		kindSample:  l.onSample,
		kindStream:  l.onFrame,
	} {
		if err := b.subscribe(up("*", k), f); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	l.stop = cancel
	l.work.Go(func() { l.watch(ctx) })
	l.work.Go(func() { l.keepRecords(ctx) })
	return l, nil
}

// Close lets all agents go, which stops what they do for the lab.
func (l *Lab) Close() error {
	l.mu.Lock()
	all := make([]*member, 0, len(l.members))
	for _, m := range l.members {
		all = append(all, m)
	}
	l.mu.Unlock()
	for _, m := range all {
		l.tell(m, control{Leave: "the lab closes"})
		l.drop(m, errors.New("the lab closes"))
	}
	l.stop()
	l.work.Wait()
	return l.bus.close()
}

// watch ends leases and keeps streams going.
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
		l.mu.Unlock()
		for _, m := range late {
			l.drop(m, errLease)
		}
		for _, m := range alive {
			m.streams.nudge()
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

func (l *Lab) onHello(subject string, data []byte) {
	h, body, err := disclose(data)
	if err != nil || h.Agent != agentOf(subject) {
		return
	}
	if l.o.Allowed == nil || !l.o.Allowed(h.Agent) {
		l.log("an agent with the key %s asks to join, which is not in the list of agents", h.Agent)
		l.refuse(h.Agent, body, "its key is not in the lab's list")
		return
	}
	if h.Version != version {
		l.log("agent %s speaks version %d of the fabric, the lab %d: use the same build", h.Agent, h.Version, version)
		l.refuse(h.Agent, body, fmt.Sprintf("the agent speaks version %d of the fabric, the lab %d", h.Version, version))
		return
	}
	s, answer, err := receive(l.o.Endpoint.Key, h, body, l.lease)
	if err != nil {
		return
	}
	m := l.newMember(h.Agent, s)
	l.mu.Lock()
	p := append(l.pending[h.Agent], m)
	if len(p) > mostPending {
		p = p[1:]
	}
	l.pending[h.Agent] = p
	l.mu.Unlock()
	_ = l.bus.publish(down(h.Agent, kindHello), answer)
}

// session finds who a sealed message is from, by what it says; opening it
// tells whether that is true.
func (l *Lab) session(subject string, data []byte) (m *member, joined bool) {
	agent := agentOf(subject)
	id, ok := sessionOf(data)
	if !ok {
		return nil, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := l.members[agent]; m != nil && m.s.id == id {
		return m, true
	}
	i := slices.IndexFunc(l.pending[agent], func(m *member) bool { return m.s.id == id })
	if i < 0 {
		return nil, false
	}
	return l.pending[agent][i], false
}

// opened returns what a member that has joined sealed, or nothing.
func (l *Lab) opened(k kind, subject string, data []byte) (*member, []byte) {
	m, joined := l.session(subject, data)
	if !joined {
		return nil, nil
	}
	text, err := m.s.in.open(k, data)
	if err != nil {
		return nil, nil
	}
	return m, text
}

func (l *Lab) onControl(subject string, data []byte) {
	seen := l.clock.Now()
	m, joined := l.session(subject, data)
	if m == nil {
		l.disown(subject, data)
		return
	}
	text, err := m.s.in.open(kindControl, data)
	if err != nil {
		return
	}
	var c control
	if err := decode(text, &c); err != nil {
		l.log("a message of agent %s is not understood: %v", m.id, err)
		return
	}
	if !joined && c.Join == nil {
		return
	}
	l.take(m, c, seen)
}

// take handles a control message. The only one from a session that has not
// joined is the one that joins.
func (l *Lab) take(m *member, c control, seen time.Time) {
	switch {
	case c.Join != nil:
		l.admit(m, *c.Join, seen)
	case c.Renew != nil:
		l.mu.Lock()
		m.until = seen.Add(l.lease)
		m.known, m.offset, m.bound = c.Renew.Known, time.Duration(c.Renew.Offset), time.Duration(c.Renew.Error)
		l.mu.Unlock()
		l.tell(m, control{Renewed: &renewed{
			Sent: c.Renew.Sent, Seen: seen.UnixNano(), Answered: l.clock.Now().UnixNano(), Lease: l.lease,
		}})
	case c.Started != nil:
		l.report(m, *c.Started)
	case c.Trouble != "":
		l.log("agent %s: %s", m.info.Name, c.Trouble)
		l.mu.Lock()
		m.trouble = c.Trouble
		l.mu.Unlock()
	case c.Leave != "":
		l.drop(m, fmt.Errorf("the agent left: %s", c.Leave))
	}
}

// disown tells an agent that its session is not known here, as after a restart
// of the lab, so that it need not wait for its lease to end.
func (l *Lab) disown(subject string, data []byte) {
	agent := agentOf(subject)
	id, ok := sessionOf(data)
	if !ok || l.o.Allowed == nil || !l.o.Allowed(agent) {
		return
	}
	now := l.clock.Now()
	l.mu.Lock()
	lately := now.Sub(l.noticed[agent]) < retry
	if !lately {
		l.noticed[agent] = now
	}
	l.mu.Unlock()
	if lately {
		return
	}
	l.answer(welcome{Version: version, Lab: l.o.Endpoint.Key.Public(), Agent: agent, Session: id, Gone: true})
}

func (l *Lab) refuse(agent string, body []byte, why string) {
	l.answer(welcome{Version: version, Lab: l.o.Endpoint.Key.Public(), Agent: agent, Hello: digestOf(body), Refused: why})
}

func (l *Lab) answer(w welcome) {
	if _, sent, err := enclose(l.o.Endpoint.Key, "welcome", w); err == nil {
		_ = l.bus.publish(down(w.Agent, kindHello), sent)
	}
}

func (l *Lab) onSample(subject string, data []byte) {
	if m, text := l.opened(kindSample, subject, data); m != nil && l.o.Sample != nil {
		l.o.Sample(m.id, text)
	}
}

func (l *Lab) onFrame(subject string, data []byte) {
	if m, text := l.opened(kindStream, subject, data); m != nil {
		m.streams.take(text)
	}
}
