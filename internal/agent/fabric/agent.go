package fabric

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

// AgentOptions say how an agent joins, and what it does for the lab.
type AgentOptions struct {
	Endpoint Endpoint
	Lab      string // the lab's public key; empty takes any lab that the NATS server lets in
	Name     string // for people
	Labels   map[string]string
	Facts    Facts
	Spool    *Spool // for Record; may be nil

	// Serve is called for each stream that the lab opens. The context ends with
	// the session.
	Serve func(ctx context.Context, s *Stream)
	// Start is called at an instant that the lab named. What it begins goes on
	// after it has returned.
	Start func(ctx context.Context, what json.RawMessage) error
	// Lost is called once for each session that ended, for whatever reason, when
	// every call of Serve has returned: it stops what still runs and puts back
	// what was changed. No session begins before it has returned.
	Lost func(cause error)

	Clock Clock                            // nil takes the system's
	Log   func(format string, args ...any) // may be nil
}

// Agent is one side of the fabric: on a machine, joined to a lab or trying to.
type Agent struct {
	o        AgentOptions
	bus      bus
	clock    Clock
	log      func(string, ...any)
	welcomes chan []byte

	mu   sync.Mutex
	live *live // the session, if there is one
}

// NewAgent makes an agent and begins to connect; Run joins.
func NewAgent(o AgentOptions) (*Agent, error) {
	if err := checkLabels(o.Labels); err != nil {
		return nil, err
	}
	a := newAgent(o)
	b, err := dial(o.Endpoint)
	if err != nil {
		return nil, err
	}
	a.bus = b
	return a, nil
}

func newAgent(o AgentOptions) *Agent {
	a := &Agent{o: o, clock: o.Clock, log: o.Log, welcomes: make(chan []byte, 4)}
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
	defer a.bus.close() //nolint:errcheck // nothing is left to send
	me := a.o.Endpoint.Key.Public()
	for k, f := range map[kind]func(string, []byte){
		kindHello:   a.onHello,
		kindControl: a.onControl,
		kindRecord:  a.onAck,
		kindStream:  a.onFrame,
	} {
		if err := a.bus.subscribe(down(me, k), f); err != nil {
			return err
		}
	}
	for {
		s, err := a.court(ctx)
		if err != nil {
			return endOf(ctx, err)
		}
		if err := a.attend(ctx, s); ctx.Err() != nil || errors.Is(err, ErrRefused) {
			return endOf(ctx, err)
		}
	}
}

func endOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// retry is how long an answer may take before the question is asked again.
const retry = time.Second

// court says hello until a lab answers.
func (a *Agent) court(ctx context.Context) (*session, error) {
	for {
		c, err := newCourtship(a.o.Endpoint.Key)
		if err != nil {
			return nil, err
		}
		// While there is no connection nothing is sent; the next round tries again.
		_ = a.bus.publish(up(a.o.Endpoint.Key.Public(), kindHello), c.sent)
		timeout := a.clock.After(retry)
		for waiting := true; waiting; {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-a.bus.dead():
				return nil, ErrRefused
			case <-timeout:
				waiting = false
			case data := <-a.welcomes:
				w, body, err := discloseWelcome(data, a.o.Endpoint.Key.Public(), a.o.Lab)
				if err != nil {
					a.log("an answer to hello is refused: %v", err)
					continue
				}
				s, err := c.accept(w, body)
				if errors.Is(err, errSeal) {
					continue // it answers an earlier hello, or none
				}
				return s, err
			}
		}
	}
}

// attend serves one session to its end.
func (a *Agent) attend(ctx context.Context, s *session) error {
	l := newLive(ctx, a, s)
	a.mu.Lock()
	a.live = l
	a.mu.Unlock()
	cause := l.hold(ctx)
	a.mu.Lock()
	a.live = nil
	a.mu.Unlock()
	if ctx.Err() != nil {
		cause = ctx.Err()
		l.tell(control{Leave: "the agent was stopped"})
	}
	l.cancel(cause)
	l.streams.shut(cause)
	l.work.Wait()
	a.log("the session ended: %v", cause)
	if a.o.Lost != nil {
		a.o.Lost(cause)
	}
	return cause
}

func (a *Agent) current() *live {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.live
}

func (a *Agent) onHello(_ string, data []byte) {
	if l := a.current(); l != nil {
		w, _, err := discloseWelcome(data, a.o.Endpoint.Key.Public(), a.o.Lab)
		if err == nil && w.Gone && w.Session == l.s.id {
			l.end(errors.New("the lab does not know the session any more"))
		}
		return
	}
	select {
	case a.welcomes <- data:
	default: // flooded; the next round asks again
	}
}

func (a *Agent) onControl(_ string, data []byte) {
	l := a.current()
	if l == nil {
		return
	}
	text, err := l.s.in.open(kindControl, data)
	if err != nil {
		return
	}
	var c control
	if err := decode(text, &c); err != nil {
		a.log("a message of the lab is not understood: %v", err)
		return
	}
	l.take(c)
}

func (a *Agent) onFrame(_ string, data []byte) {
	if l := a.current(); l != nil {
		if text, err := l.s.in.open(kindStream, data); err == nil {
			l.streams.take(text)
		}
	}
}

func (a *Agent) onAck(_ string, data []byte) {
	if l := a.current(); l != nil {
		if text, err := l.s.in.open(kindRecord, data); err == nil {
			l.takeAck(text)
		}
	}
}

// Record hands a JSON value to the lab, which has it once and for good: when
// Record returns, the value is on this machine's disk, and it stays there until the lab
// has it. A disk or spool that is full is an error, and the lab is told.
func (a *Agent) Record(data json.RawMessage) error {
	if a.o.Spool == nil {
		return errors.New("the agent has no spool to keep records in")
	}
	if !json.Valid(data) {
		return errors.New("a record is not JSON")
	}
	_, err := a.o.Spool.Append(data)
	if err != nil {
		if l := a.current(); l != nil {
			l.tell(control{Trouble: err.Error()})
		}
		return fmt.Errorf("keep a record for the lab: %w", err)
	}
	return nil
}

// Sample sends a live value to the lab, if one hears it. It does not wait and
// may be lost.
func (a *Agent) Sample(data []byte) {
	if l := a.current(); l != nil && len(data) <= MaxRecord {
		_ = l.s.out.send(kindSample, data, l.publish(kindSample))
	}
}
