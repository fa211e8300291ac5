package fabric

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Start is an order to some agents to start together.
type Start struct {
	Agents []string
	At     time.Time       // on the lab's clock (Lab.Now); far enough ahead for the order to reach all
	What   json.RawMessage // for the agents' own Start
}

// Begun tells how an agent carried out an order to start.
type Begun struct {
	Agent string
	// Skew is how long after the instant it started, by the lab's clock as the
	// agent knows it; Error bounds how far that may be wrong.
	Skew, Error time.Duration
	Err         error // it did not start
}

// gathering collects the reports on one order.
type gathering struct {
	mu      sync.Mutex
	awaited map[string]bool // agents that have not reported
	reports map[string]started
	all     chan struct{} // closed when nobody is awaited any more
}

// Now is the lab's clock.
func (l *Lab) Now() time.Time { return l.clock.Now() }

// Start tells agents to start at an instant and waits for their reports, one for
// each in the order of the agents. An agent that went away, or that has not reported
// when ctx ends, has an Err; whether the rest may go on alone is for the caller.
func (l *Lab) Start(ctx context.Context, s Start) ([]Begun, error) {
	if len(s.Agents) == 0 {
		return nil, errors.New("no agents to start")
	}
	g := &gathering{awaited: map[string]bool{}, reports: map[string]started{}, all: make(chan struct{})}
	members := make([]*member, len(s.Agents))
	l.mu.Lock()
	l.orders++
	id := l.orders
	l.waiting[id] = g
	for i, agent := range s.Agents {
		members[i] = l.members[agent]
		g.awaited[agent] = true
	}
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.waiting, id)
		l.mu.Unlock()
	}()
	for i, m := range members {
		if m == nil {
			g.take(s.Agents[i], started{Fault: "it is not joined"})
			continue
		}
		l.tell(m, control{Start: &order{ID: id, At: s.At.UnixNano(), What: s.What}})
		go func() {
			select {
			case <-m.gone:
				g.take(m.id, started{ID: id, Fault: m.cause.Error()})
			case <-g.all:
			case <-ctx.Done():
			}
		}()
	}
	select {
	case <-g.all:
	case <-ctx.Done():
	}
	return g.results(s, context.Cause(ctx)), nil
}

// take adds the first report of an agent.
func (g *gathering) take(agent string, s started) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.awaited[agent] {
		return
	}
	g.reports[agent] = s
	if delete(g.awaited, agent); len(g.awaited) == 0 {
		close(g.all)
	}
}

func (g *gathering) results(s Start, cause error) []Begun {
	g.mu.Lock()
	defer g.mu.Unlock()
	begun := make([]Begun, len(s.Agents))
	for i, agent := range s.Agents {
		r, reported := g.reports[agent]
		b := Begun{Agent: agent}
		switch {
		case !reported:
			b.Err = fmt.Errorf("agent %s did not report that it started: %w", agent, cause)
		default:
			if r.Fault != "" {
				b.Err = fmt.Errorf("start agent %s: %s", agent, r.Fault)
			}
			if r.At != 0 {
				b.Skew, b.Error = time.Unix(0, r.At).Sub(s.At), time.Duration(r.Error)
			}
		}
		begun[i] = b
	}
	return begun
}

// report passes an agent's report on to who waits for it.
func (l *Lab) report(m *member, s started) {
	l.mu.Lock()
	g := l.waiting[s.ID]
	l.mu.Unlock()
	if g != nil {
		g.take(m.id, s)
	}
}
