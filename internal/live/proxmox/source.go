package proxmox

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"plimsoll/internal/cluster"
	"plimsoll/internal/live"
	"plimsoll/internal/proxmox"
)

// source reads the cluster.
type source struct {
	client *proxmox.Client
	poll   time.Duration
	known  known

	mu    sync.Mutex // guards the fields below
	loads map[int]*load
}

// load is the demand of a VM over time.
type load struct {
	demand cluster.Demand
	at     time.Time
}

func newSource(c *proxmox.Client, poll time.Duration) *source {
	return &source{client: c, poll: poll, known: known{nodes: map[string]node{}, configs: map[int]config{}}, loads: map[int]*load{}}
}

const (
	firstPause   = time.Second
	longestPause = time.Minute
	firstTries   = 5 // before the first step
)

// Watch implements live.Source.
func (s *source) Watch(ctx context.Context, report func(live.Step) error) error {
	var past *view
	pause, lost, tries := s.poll, false, 0
	for {
		next, err := s.look(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		step := live.Step{At: time.Now()}
		switch {
		case permanent(err):
			return err
		case err != nil && past == nil:
			if tries++; tries == firstTries {
				return err
			}
			pause = firstPause
		case err != nil:
			pause = min(max(firstPause, 2*pause), longestPause)
			if !lost {
				lost, pause = true, min(firstPause, s.poll)
				step.Cluster = past.cluster
				step.Events = []live.Event{{At: step.At, Kind: live.ControlLost, Text: err.Error()}}
			}
		default:
			step.Cluster = next.cluster
			if lost {
				step.Events = append(step.Events, live.Event{At: step.At, Kind: live.ControlBack})
			}
			if past != nil {
				step.Events = append(step.Events, past.events(next)...)
			}
			past, pause, lost = next, s.poll, false
		}
		if step.Cluster != nil {
			if err := report(step); err != nil {
				return err
			}
		}
		if err := live.Pause(ctx, pause); err != nil {
			return err
		}
	}
}

// permanent is true for errors that do not pass: access was revoked.
func permanent(err error) bool {
	refused := new(proxmox.Refused)
	return errors.As(err, &refused) && (refused.Status == http.StatusUnauthorized || refused.Status == http.StatusForbidden)
}

// look reads the cluster and adds its loads.
func (s *source) look(ctx context.Context) (*view, error) {
	r, err := s.known.read(ctx, s.client)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.loads {
		if r.guests[id] == nil {
			delete(s.loads, id)
		}
	}
	for id, g := range r.guests {
		n := r.nodes[g.Node]
		if !g.running() || n == nil || !n.known || !n.online {
			continue
		}
		l := s.loads[id]
		if l == nil {
			l = &load{}
			s.loads[id] = l
			l.recall(g, n)
		}
		s.measure(l, r.at, g, n)
	}
	return newView(r, s.loads), nil
}

// recalled is the number of samples used of the recorded history: the last half hour.
const recalled = 30

// recall adds the demand that the node recorded before.
func (l *load) recall(g *guest, n *node) {
	for _, x := range g.past[max(0, len(g.past)-recalled):] {
		if x.CPU != nil {
			cpus := x.MaxCPU
			if cpus == 0 {
				cpus = g.MaxCPU
			}
			l.demand.CPU.Add(megahertz(*x.CPU, cpus, n.host.MHz))
		}
	}
}

// megahertz is the CPU use of vCPUs, which the API gives as a part of all.
func megahertz(part, cpus proxmox.Number, mhz int64) float64 {
	return min(max(float64(part), 0), 1) * min(max(float64(cpus), 0), 4096) * float64(mhz)
}

// measure adds the demand of a VM. Nodes publish it every ten seconds.
func (s *source) measure(l *load, at time.Time, g *guest, n *node) {
	if at.Sub(l.at) >= min(s.poll, usualPoll)/2 {
		l.demand.CPU.Add(megahertz(g.CPU, g.MaxCPU, n.host.MHz))
		l.at = at
	}
	l.demand.Consumed = min(max(g.Memory.Int(1<<50), g.OnHost.Int(1<<50)), g.MaxMem.Int(1<<50))
}

// running reports whether a VM uses memory of its node.
func (g *guest) running() bool { return g.Status == "running" || g.Status == "paused" }
