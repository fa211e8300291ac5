package fabric

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"sync"
	"time"
)

// AgentOptions are the options of an agent.
type AgentOptions struct {
	Endpoint Endpoint
	Lab      string // the lab's public key; empty accepts any lab that the NATS server admits
	Name     string // for display
	Labels   map[string]string
	Facts    Facts

	// Serve is called for each stream that the lab opens. The context ends with
	// the session.
	Serve func(ctx context.Context, s *Stream)
	// Lost is called once for each session that ended, for any reason, when every call of
	// Serve has returned: it restores settings. No session starts before it has returned.
	Lost func(cause error)

	Clock Clock                            // nil for the system's
	Log   func(format string, args ...any) // may be nil
}

// Agent is the side of the fabric on a machine.
type Agent struct {
	o     AgentOptions
	bus   bus
	clock Clock
	log   func(string, ...any)

	mu   sync.Mutex
	live *live // the session, or nil
}

// NewAgent makes an agent and begins to connect; Run joins.
func NewAgent(o AgentOptions) (*Agent, error) {
	if err := checkLabels(o.Labels); err != nil {
		return nil, err
	}
	b, err := dial(o.Endpoint)
	if err != nil {
		return nil, err
	}
	return newAgent(o, b), nil
}

func newAgent(o AgentOptions, b bus) *Agent {
	a := &Agent{o: o, bus: b, clock: o.Clock, log: o.Log}
	if a.clock == nil {
		a.clock = SystemClock()
	}
	if a.log == nil {
		a.log = func(string, ...any) {}
	}
	return a
}

// Run keeps the agent joined until ctx ends, which is no error, or the lab
// refuses it.
func (a *Agent) Run(ctx context.Context) error {
	defer a.bus.close() //nolint:errcheck // nothing left to send
	if err := a.bus.subscribe(DownSubject(a.public()), a.onFrame); err != nil {
		return err
	}
	log := once(a.log)
	for {
		err := a.attend(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, ErrRefused):
			return err
		}
		log("%v", err)
		select {
		case <-ctx.Done():
			return nil
		case <-a.bus.dead():
			return ErrRefused
		case <-a.clock.After(retry):
		}
	}
}

func (a *Agent) public() string { return a.o.Endpoint.Key.Public() }

// retry is the interval between attempts.
const retry = time.Second

// attend runs one session with the lab.
func (a *Agent) attend(ctx context.Context) error {
	l, err := a.newLive(ctx)
	if err != nil {
		return err
	}
	a.enter(l)
	cause := l.join(ctx)
	if cause == nil {
		a.log("joined the lab as %s", a.o.Name)
		cause = l.hold(ctx)
	}
	if ctx.Err() != nil {
		cause = ctx.Err()
		if l.asked.Load() { // the lab may have admitted the agent already
			_ = l.tell(control{Leave: "the agent was stopped"})
		}
	}
	a.enter(nil)
	l.cancel(cause)
	l.flows.shut(cause)
	l.work.Wait()
	if !l.joined.IsZero() && a.o.Lost != nil {
		a.o.Lost(cause)
	}
	return fmt.Errorf("the session ended: %w", cause)
}

// enter makes a session the current one.
func (a *Agent) enter(l *live) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.live = l
}

func (a *Agent) onFrame(_ string, data []byte) {
	f, err := decodeFrame(data)
	if err != nil {
		return
	}
	a.mu.Lock()
	l := a.live
	a.mu.Unlock()
	switch {
	case l == nil || f.session != l.id:
	case f.stream == 0 && f.op == opReset:
		l.doubt()
	default:
		l.flows.take(f)
	}
}

// newLive opens a session.
func (a *Agent) newLive(ctx context.Context) (*live, error) {
	var id sessionID
	if _, err := rand.Read(id[:]); err != nil {
		return nil, fmt.Errorf("name a session: %w", err)
	}
	l := &live{a: a, ended: make(chan error, 1), renewed: make(chan renewed, 16), doubts: make(chan struct{}, 1), welcome: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancelCause(ctx)
	l.session = newSession(id, true, func(data []byte) error { return a.bus.publish(UpSubject(a.public()), data) }, func(f *flow) *tls.Conn {
		lab := a.o.Lab
		if f.id > 0 { // only the joined lab opens streams
			lab = holder(l.control.ConnectionState())
		}
		return a.o.Endpoint.Key.client(f, id, lab)
	})
	l.flows.serve(l.accept)
	return l, nil
}
