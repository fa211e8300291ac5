package replay

import (
	"time"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/divvy"
	"plimsoll/internal/cluster/scenario"
)

// Durations, in milliseconds.
const (
	second   = 1000
	noticed  = 30 * second  // until a host failure is detected
	booting  = 40 * second  // until a started VM works
	patience = 600 * second // until a move times out
	flapping = 3600 * second
)

// world is a run in progress.
type world struct {
	scenario *scenario.Scenario
	policy   Policy
	c        *cluster.Cluster // VM.Host is Nowhere while the VM does not run
	x        *cluster.Index
	l        *cluster.Layout // with moving VMs on their destination
	now, end int64           // milliseconds

	due      []bool  // by VM: it should run
	boots    []int64 // by VM: end of its boot; 0 once booted
	asks     []cluster.Resources
	entitled []cluster.Resources
	shares   *divvy.Entitlements // source of entitled; nil until divided again
	flights  flights
	queue    []Step
	events   []scenario.Event // that are still to come
	look     int64            // next call of the observer
	sampled  int64            // next change of demand
	round    int64            // next round of the policy
	alarm    int64            // extra round, after a failure is detected
	seen     []seen           // by host
	left     []departure      // by VM: host before its last move
	broken   int64            // rules and reservations that are violated now
	changed  bool             // since broken was counted
	out      Outcome
}

// departure is the source and the time of a VM's last move.
type departure struct {
	from   cluster.HostID
	at     int64
	forced bool
}

func newWorld(s *scenario.Scenario, p Policy) *world {
	n := len(s.Cluster.VMs)
	w := &world{
		scenario: s, policy: p, c: copied(s.Cluster), end: s.Length * second, due: make([]bool, n), boots: make([]int64, n),
		asks: make([]cluster.Resources, n), entitled: make([]cluster.Resources, n), flights: newFlights(n), events: s.Events,
		seen: make([]seen, len(s.Cluster.Hosts)), left: make([]departure, n), changed: true,
	}
	for v := range w.c.VMs {
		w.left[v].from = cluster.Nowhere
		w.due[v] = w.c.VMs[v].Host != cluster.Nowhere || w.c.VMs[v].Waiting
	}
	w.look, w.alarm = w.end, w.end
	w.reindex()
	return w
}

// copied is a cluster whose hosts, VMs and rules may be changed.
func copied(c *cluster.Cluster) *cluster.Cluster {
	n := *c
	n.Hosts, n.VMs, n.Rules = append([]cluster.Host(nil), c.Hosts...), append([]cluster.VM(nil), c.VMs...), append([]cluster.Rule(nil), c.Rules...)
	return &n
}

// reindex recomputes the derived state of the cluster.
func (w *world) reindex() {
	w.x = cluster.NewIndex(w.c)
	w.l = cluster.NewLayout(w.c, w.x)
	for i := range w.flights.list {
		w.l.Move(w.flights.list[i].vm, w.flights.list[i].to)
	}
	w.changed, w.shares = true, nil
}

// sample sets a new demand, and recomputes entitlements.
func (w *world) sample() {
	if w.now < w.sampled {
		return
	}
	w.sampled = w.now + scenario.Step*second
	for v := range w.c.VMs {
		if !w.due[v] {
			w.asks[v] = cluster.Resources{}
			continue
		}
		vm := &w.c.VMs[v]
		s := w.scenario.Demand.At(cluster.VMID(v), w.now/second)
		d := &vm.Demand
		d.CPU.Add(float64(s.CPU))
		d.Active.Add(float64(s.Active))
		d.Consumed, d.Dirty = max(d.Consumed, s.Active), s.Dirty
		w.asks[v] = cluster.Resources{CPU: min(s.CPU, vm.CPU.Limit), Memory: min(s.Active, vm.Mem.Limit) + vm.Overhead}
	}
	w.entitle()
}

// entitle divides the capacity of running hosts among the VMs that should run.
func (w *world) entitle() {
	if w.shares == nil {
		w.shares = w.divide()
	}
	w.shares.UpdateAll(func(v cluster.VMID) cluster.Resources { return w.asks[v] })
	w.shares.Settle()
	for v := range w.c.VMs {
		has := w.shares.VM(cluster.VMID(v))
		w.entitled[v] = cluster.Resources{CPU: min(has.CPU, w.asks[v].CPU), Memory: min(has.Memory, w.asks[v].Memory)}
	}
}

func (w *world) divide() *divvy.Entitlements {
	var all cluster.Resources
	for h := range w.c.Hosts {
		if w.c.Hosts[h].Runs() {
			all = all.Plus(w.c.Hosts[h].Capacity())
		}
	}
	return divvy.Divide(w.c, w.x, all, func(v cluster.VMID) bool { return w.due[v] })
}

// happen applies due events.
func (w *world) happen() {
	for len(w.events) > 0 && w.events[0].At*second <= w.now {
		e := w.events[0]
		w.events = w.events[1:]
		w.round = w.now // the policy reacts to an operator's change at once
		switch e.Kind {
		case scenario.HostEvent:
			w.hosts(e)
		case scenario.RuleEvent:
			for _, r := range e.Rules {
				w.c.Rules[r].Disabled = !e.Enable
			}
		case scenario.ArriveEvent, scenario.DepartEvent:
			for _, v := range e.VMs {
				w.due[v] = e.Kind == scenario.ArriveEvent
				w.c.VMs[v].Waiting = w.due[v]
				if !w.due[v] {
					w.drop(v)
					w.c.VMs[v].Host = cluster.Nowhere
				}
			}
		}
		w.reindex()
		w.sampled = w.now
		w.sample()
	}
}

// hosts changes the state of hosts. VMs of a failed host stop; the policy runs when the
// failure is detected.
func (w *world) hosts(e scenario.Event) {
	for _, h := range e.Hosts {
		was := w.c.Hosts[h].State
		w.c.Hosts[h].State = e.State
		w.seen[h] = seen{as: e.State, from: w.now}
		if w.c.Hosts[h].Runs() {
			continue
		}
		if e.State == cluster.Failed {
			w.seen[h] = seen{as: was, from: w.now + noticed}
			w.alarm = w.now + noticed
		}
		for i := len(w.flights.list) - 1; i >= 0; i-- {
			if f := w.flights.list[i]; f.from == h || f.to == h {
				w.abort(i)
			}
		}
	}
}

// seen is the state of a host that policies see until a failure is detected.
type seen struct {
	as   cluster.HostState
	from int64
}

// hidden reports whether a host has failed without detection yet.
func (w *world) hidden(h cluster.HostID) bool {
	return w.c.Hosts[h].State == cluster.Failed && w.now < w.seen[h].from
}

// decide runs the policy when it is due.
func (w *world) decide() {
	if w.now < min(w.round, w.alarm) {
		return
	}
	if w.now >= w.alarm {
		w.alarm = w.end
	}
	w.round = w.now + w.policy.Every()*second
	v := w.view()
	began := time.Now()
	w.queue = w.policy.Round(v)
	w.out.Decisions = append(w.out.Decisions, time.Since(began))
}

// view is the policy's present view.
func (w *world) view() *View {
	v := &View{Now: w.now / second, Cluster: copied(w.c), Moving: make([]bool, len(w.c.VMs)), Down: make([]bool, len(w.c.VMs)), Latest: append([]cluster.Resources(nil), w.asks...)}
	for h := range w.c.Hosts {
		if id := cluster.HostID(h); w.hidden(id) {
			v.Cluster.Hosts[h].State = w.seen[h].as
		}
	}
	for i := range w.c.VMs {
		vm := &v.Cluster.VMs[i]
		if k := w.flights.of[i]; k >= 0 {
			vm.Host = w.flights.list[k].to
			v.Moving[i] = true
		}
		v.Down[i] = w.due[i] && (vm.Host == cluster.Nowhere || !v.Cluster.Hosts[vm.Host].Runs())
		vm.Waiting = v.Down[i] && vm.Host == cluster.Nowhere
	}
	v.Index = cluster.NewIndex(v.Cluster)
	v.Layout = cluster.NewLayout(v.Cluster, v.Index)
	return v
}
