// Package interval makes rates of the readings of a host, and means of them.
package interval

import (
	"maps"
	"slices"
	"strings"

	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/cgroup"
	"plimsoll/internal/hoststat/pmu"
	"plimsoll/internal/hoststat/power"
	"plimsoll/internal/hoststat/psi"
)

// Between is the interval from one reading to a later one: counters per second, gauges of the
// later reading. A counter that decreased, such as after a restart, counts as 0. It is nil if
// the second reading is not later.
func Between(a, b *hoststat.State) *hoststat.Interval {
	t := b.At - a.At
	if t <= 0 {
		return nil
	}
	r := rater{1 / t}
	i := &hoststat.Interval{
		At: b.At, Seconds: t, Running: b.Running, Blocked: b.Blocked, Memory: b.Memory, Zones: b.Zones, Files: b.Files,
		Interrupts: r.rate(a.Interrupts, b.Interrupts), Switches: r.rate(a.Switches, b.Switches), Forks: r.rate(a.Forks, b.Forks),
		VM: r.rates(a.VM, b.VM), Net: r.rates(a.Net, b.Net), Missing: b.Missing, Activity: b.Activity, CacheLatency: b.CacheLatency, PMU: pmu.Between(a.PMU, b.PMU, t), Power: power.Between(a.Power, b.Power),
	}
	for n, c := range b.CPUs {
		if n < len(a.CPUs) {
			i.CPUs = append(i.CPUs, r.cpu(a.CPUs[n], c))
		}
	}
	i.SoftIRQs = map[string][]float64{}
	for name, counts := range b.SoftIRQs {
		i.SoftIRQs[name] = r.list(a.SoftIRQs[name], counts)
	}
	r.irqs(a, b, i)
	r.pressures(a, b, i)
	r.nodes(a, b, i)
	r.caches(a, b, i)
	r.disks(a, b, i)
	r.links(a, b, i)
	if b.Network != nil {
		i.Network = b.Network.Rates(a.Network, r.perSecond)
	}
	r.processes(a, b, i)
	r.groups(a, b, i)
	return i
}

// rater makes rates of the differences of two readings.
type rater struct{ perSecond float64 }

func (r rater) rate(a, b float64) float64 { return max(0, b-a) * r.perSecond }

// all replaces later values by rates.
func (r rater) all(a, b []*float64) {
	for i := range b {
		*b[i] = r.rate(*a[i], *b[i])
	}
}

func (r rater) rates(a, b map[string]float64) map[string]float64 {
	out := make(map[string]float64, len(b))
	for name, value := range b {
		if before, ok := a[name]; ok {
			out[name] = r.rate(before, value)
		}
	}
	return out
}

func (r rater) list(a, b []float64) []float64 {
	out := make([]float64, len(b))
	for i := range b {
		if i < len(a) {
			out[i] = r.rate(a[i], b[i])
		}
	}
	return out
}

func (r rater) cpu(a, b hoststat.CPU) hoststat.CPU {
	r.all(a.Counters(), b.Counters())
	return b
}

func (r rater) irqs(a, b *hoststat.State, i *hoststat.Interval) {
	before := map[string]*hoststat.IRQ{}
	for n := range a.IRQs {
		before[a.IRQs[n].Name] = &a.IRQs[n]
	}
	for _, irq := range b.IRQs {
		if was := before[irq.Name]; was != nil {
			i.IRQs = append(i.IRQs, hoststat.IRQ{Name: irq.Name, Device: irq.Device, PerCPU: r.list(was.PerCPU, irq.PerCPU)})
		} else {
			i.IRQs = append(i.IRQs, hoststat.IRQ{Name: irq.Name, Device: irq.Device, PerCPU: r.list(make([]float64, len(irq.PerCPU)), irq.PerCPU)})
		}
	}
}

func (r rater) pressure(a, b psi.Pressure) psi.Pressure {
	r.all(a.Counters(), b.Counters())
	return b
}

func (r rater) pressures(a, b *hoststat.State, i *hoststat.Interval) {
	i.Pressure = map[string]psi.Pressure{}
	for name, p := range b.Pressure {
		i.Pressure[name] = r.pressure(a.Pressure[name], p)
	}
}

func (r rater) nodes(a, b *hoststat.State, i *hoststat.Interval) {
	for n, node := range b.Nodes {
		if n < len(a.Nodes) {
			i.Nodes = append(i.Nodes, hoststat.Node{CPUs: node.CPUs, Stat: r.rates(a.Nodes[n].Stat, node.Stat), Memory: node.Memory})
		}
	}
}

func (r rater) caches(a, b *hoststat.State, i *hoststat.Interval) {
	for _, c := range b.Caches {
		if was := index(a.Caches, func(x *hoststat.Cache) bool { return x.Name == c.Name }); was != nil {
			r.all(was.Counters(), c.Counters())
			i.Caches = append(i.Caches, c)
		}
	}
}

func (r rater) disks(a, b *hoststat.State, i *hoststat.Interval) {
	for _, d := range b.Disks {
		was := index(a.Disks, func(x *hoststat.Disk) bool { return x.Name == d.Name })
		if was == nil {
			was = &hoststat.Disk{} // not used before
		}
		r.all(was.Counters(), d.Counters())
		i.Disks = append(i.Disks, d)
	}
}

func (r rater) links(a, b *hoststat.State, i *hoststat.Interval) {
	for _, l := range b.Links {
		was := index(a.Links, func(x *hoststat.Link) bool { return x.Name == l.Name })
		if was == nil {
			continue
		}
		r.all(was.Counters(), l.Counters())
		i.Links = append(i.Links, l)
	}
}

// largeProcess is the share of the host's memory from which idle processes are kept too: they
// may be why others lack memory.
const largeProcess = 0.02

// processes keeps the processes that used CPU time, have details or are large.
func (r rater) processes(a, b *hoststat.State, i *hoststat.Interval) {
	large := largeProcess * b.Memory["MemTotal"]
	before := make(map[int]*hoststat.Process, len(a.Processes))
	for n := range a.Processes {
		before[a.Processes[n].PID] = &a.Processes[n]
	}
	earlier := usedEarlier(before, b)
	newest := 0. // start of the last process that the first reading has
	for _, p := range before {
		newest = max(newest, p.Started)
	}
	for _, p := range b.Processes {
		was := before[p.PID]
		if was == nil || was.Started != p.Started {
			was = &hoststat.Process{Detailed: true}
		}
		detailed := p.Detailed && was.Detailed
		contended := p.Contended
		r.all(was.Counters(), p.Counters())
		p.Contended = contended
		p.Reaped = max(0, p.Reaped-earlier[p.PID].Reaped*r.perSecond)
		p.Faulted = max(0, p.Faulted-earlier[p.PID].Faulted*r.perSecond)
		p.Tasks = r.tasks(was, &p, newest, detailed)
		p.Stopped, p.Locked = one(p.State == "T"), one(strings.HasSuffix(p.Command, " waiting"))
		if p.Detailed = detailed; !detailed {
			p = hoststat.Process{
				PID: p.PID, Name: p.Name, Started: p.Started, State: p.State, User: p.User, System: p.System, Guest: p.Guest,
				Threads: p.Threads, Minor: p.Minor, Major: p.Major, RSS: p.RSS, CPU: p.CPU, BlockIO: p.BlockIO, Stopped: p.Stopped, Locked: p.Locked, Parent: p.Parent, Command: p.Command,
				Origin: p.Origin, NodeMemory: p.NodeMemory, Session: p.Session, Nice: p.Nice, Policy: p.Policy, Reaped: p.Reaped, Faulted: p.Faulted,
			}
		}
		if detailed || p.Busy()+p.Stopped+p.Locked+p.Reaped > 0 || p.State == "D" || p.RSS > large {
			i.Processes = append(i.Processes, p)
		}
	}
}

// usedEarlier is what processes that have ended since had used before, by the PID of the ancestor
// that has waited for them: a process that ended counts with all its life.
func usedEarlier(before map[int]*hoststat.Process, now *hoststat.State) map[int]hoststat.Process {
	ended := maps.Clone(before)
	for n := range now.Processes {
		p := &now.Processes[n]
		if was := before[p.PID]; was != nil && was.Started == p.Started {
			delete(ended, p.PID)
		}
	}
	earlier := map[int]hoststat.Process{}
	for _, p := range ended {
		heir := p.Parent
		for range len(ended) { // those who ended with it have passed it on
			parent := ended[heir]
			if parent == nil {
				break
			}
			heir = parent.Parent
		}
		sum := earlier[heir]
		sum.Reaped += p.Busy() + p.Reaped
		sum.Faulted += p.Minor + p.Faulted
		earlier[heir] = sum
	}
	return earlier
}

// tasks are the threads of a process. One that the first reading does not have began since: a thread list is limited, and a thread may have been left out of it.
func (r rater) tasks(before, now *hoststat.Process, newest float64, known bool) []hoststat.Thread {
	if !known {
		return nil
	}
	out := slices.Clone(now.Tasks)
	for n := range out {
		t := &out[n]
		was := index(before.Tasks, func(x *hoststat.Thread) bool { return x.TID == t.TID })
		switch {
		case was != nil:
		case t.Busy()*r.perSecond > mostOfThread || t.Started > 0 && t.Started < newest:
			was = new(*t) // it is older, and what it did since is unknown
		default:
			was = &hoststat.Thread{CPU: t.CPU, Cache: t.Cache}
		}
		if was.CPU != t.CPU {
			t.Moves = was.Moves + 1
		}
		if was.Cache != t.Cache {
			t.CacheMoves = was.CacheMoves + 1
		}
		r.all(was.Counters(), t.Counters())
		t.Locked, t.Blocked = one(strings.HasPrefix(t.Wait, "futex")), one(t.State == "D")
	}
	return out
}

// mostOfThread is the CPU time per second that a thread can use, with what clocks are apart.
const mostOfThread = 1.1

// one is the share of one reading.
func one(seen bool) float64 {
	if seen {
		return 1
	}
	return 0
}

func (r rater) groups(a, b *hoststat.State, i *hoststat.Interval) {
	for _, g := range b.Groups {
		was := index(a.Groups, func(x *cgroup.Group) bool { return x.Path == g.Path })
		if was == nil {
			continue
		}
		g.IO = r.groupIO(was.IO, g.IO)
		r.all(was.Counters(), g.Counters())
		i.Groups = append(i.Groups, g)
	}
}

func (r rater) groupIO(a, b []cgroup.IO) []cgroup.IO {
	out := slices.Clone(b)
	for n := range out {
		was := index(a, func(x *cgroup.IO) bool { return x.Device == out[n].Device })
		if was == nil {
			was = &cgroup.IO{} // a device not used before
		}
		r.all(was.Counters(), out[n].Counters())
	}
	return out
}

// index finds an element by a key.
func index[T any](all []T, same func(*T) bool) *T {
	if i := slices.IndexFunc(all, func(x T) bool { return same(&x) }); i >= 0 {
		return &all[i]
	}
	return nil
}
