package interval

import (
	"cmp"
	"maps"
	"slices"

	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/cgroup"
	"plimsoll/internal/hoststat/network"
)

// Series collects the intervals between successive readings.
type Series struct {
	Intervals []hoststat.Interval // threads that use half a CPU only; processes in order of CPU time used

	first, last *hoststat.State
	processes   map[processKey]*hoststat.Process // sums over the intervals, of rate times seconds
	groups      map[string]*cgroup.Group         // by path, likewise
	inDriver    map[string]float64               // by disk, likewise
}

type processKey struct {
	pid     int
	started float64
}

// Add appends a reading.
func (s *Series) Add(now *hoststat.State) {
	if s.first == nil {
		s.first, s.last = now, now
		s.processes, s.groups, s.inDriver = map[processKey]*hoststat.Process{}, map[string]*cgroup.Group{}, map[string]float64{}
		return
	}
	i := Between(s.last, now)
	if i == nil {
		return
	}
	s.last = now
	for n := range i.Processes {
		s.sum(&i.Processes[n], i.Seconds)
		i.Processes[n].Tasks = hottest(i.Processes[n].Tasks)
	}
	for n := range i.Groups {
		s.sumGroup(&i.Groups[n], i.Seconds)
	}
	for n := range i.Disks {
		s.inDriver[i.Disks[n].Name] += i.Disks[n].InDriver * i.Seconds
	}
	s.Intervals = append(s.Intervals, *i)
}

// hottest keeps the threads that used at least half a CPU.
func hottest(tasks []hoststat.Thread) (hot []hoststat.Thread) {
	for _, t := range tasks {
		if t.Busy() >= 0.5 {
			hot = append(hot, t)
		}
	}
	return hot
}

// sum adds a process of an interval to its sums.
func (s *Series) sum(p *hoststat.Process, seconds float64) {
	key := processKey{p.PID, p.Started}
	total := s.processes[key]
	if total == nil {
		total = &hoststat.Process{PID: p.PID, Started: p.Started}
		s.processes[key] = total
	}
	sums, tasks, detailed := *total, total.Tasks, total.Detailed
	*total = *p // names and gauges are the last ones
	total.Detailed = detailed || p.Detailed
	if !p.Detailed {
		total.Allowed, total.Group, total.SetGroup = sums.Allowed, sums.Group, sums.SetGroup
		total.Command = cmp.Or(p.Command, sums.Command)
		total.MemoryGroup, total.IOGroup, total.Anon, total.Swap = sums.MemoryGroup, sums.IOGroup, sums.Anon, sums.Swap
	}
	total.Blocked = sums.Blocked + p.Blocked*seconds
	total.Waits = sums.Waits
	for function, threads := range p.Waits {
		if total.Waits == nil {
			total.Waits = hoststat.Waits{}
		}
		total.Waits[function] += threads * seconds
	}
	accumulate(total.Counters(), sums.Counters(), p.Counters(), seconds)
	for n := range p.Tasks {
		t := &p.Tasks[n]
		known := index(tasks, func(x *hoststat.Thread) bool { return x.TID == t.TID })
		if known == nil {
			tasks = append(tasks, hoststat.Thread{TID: t.TID})
			known = &tasks[len(tasks)-1]
		}
		was := *known
		*known = *t
		accumulate(known.Counters(), was.Counters(), t.Counters(), seconds)
	}
	total.Tasks = tasks
}

// sumGroup adds a control group of an interval to its sums.
func (s *Series) sumGroup(g *cgroup.Group, seconds float64) {
	total := s.groups[g.Path]
	if total == nil {
		total = &cgroup.Group{}
		s.groups[g.Path] = total
	}
	sums := *total
	*total = *g
	accumulate(total.Counters(), sums.Counters(), g.Counters(), seconds)
	total.IO = slices.Clone(g.IO)
	for n := range total.IO {
		one := &total.IO[n]
		was := index(sums.IO, func(x *cgroup.IO) bool { return x.Device == one.Device })
		if was == nil {
			was = &cgroup.IO{}
		}
		accumulate(one.Counters(), was.Counters(), g.IO[n].Counters(), seconds)
	}
}

// accumulate sets each counter to its sum plus a rate times seconds.
func accumulate(into, sums, rates []*float64, seconds float64) {
	for i := range into {
		*into[i] = *sums[i] + *rates[i]*seconds
	}
}

// Mean is the interval from the first reading to the last; nil with fewer than two readings.
// Processes and control groups are those of all intervals, with rates over the whole time.
// Gauges are those of the last reading, but for threads and requests that were counted at each.
func (s *Series) Mean() *hoststat.Interval {
	if s.first == nil {
		return nil
	}
	mean := Between(s.first, s.last)
	if mean == nil {
		return nil
	}
	s.meanProcesses(mean)
	s.meanGroups(mean)
	for n := range mean.Disks {
		mean.Disks[n].InDriver = s.inDriver[mean.Disks[n].Name] / mean.Seconds
	}
	var running, blocked float64
	for i := range s.Intervals {
		if s.Intervals[i].Zones != nil {
			mean.Zones = s.Intervals[i].Zones
		}
		running, blocked = running+s.Intervals[i].Running, blocked+s.Intervals[i].Blocked
	}
	if mean.Network != nil {
		var parts []network.Part
		for i := range s.Intervals {
			if n := s.Intervals[i].Network; n != nil {
				parts = append(parts, network.Part{State: n, Share: s.Intervals[i].Seconds / mean.Seconds})
			}
		}
		mean.Network.Average(parts)
	}
	mean.Running, mean.Blocked = running/float64(len(s.Intervals)), blocked/float64(len(s.Intervals))
	return mean
}

// meanProcesses replaces the processes by those of all intervals.
func (s *Series) meanProcesses(mean *hoststat.Interval) {
	mean.Processes, mean.Activity = nil, nil
	for _, total := range s.processes {
		p := *total
		p.Tasks, p.Waits = slices.Clone(p.Tasks), maps.Clone(p.Waits)
		divide(p.Counters(), mean.Seconds)
		p.Blocked /= mean.Seconds
		for function := range p.Waits {
			p.Waits[function] /= mean.Seconds
		}
		for n := range p.Tasks {
			divide(p.Tasks[n].Counters(), mean.Seconds)
		}
		slices.SortFunc(p.Tasks, func(a, b hoststat.Thread) int { return byUse(a.Busy(), b.Busy(), a.TID, b.TID) })
		mean.Processes = append(mean.Processes, p)
	}
	slices.SortFunc(mean.Processes, func(a, b hoststat.Process) int { return byUse(a.Busy(), b.Busy(), a.PID, b.PID) })
}

// meanGroups replaces the control groups by those of all intervals.
func (s *Series) meanGroups(mean *hoststat.Interval) {
	mean.Groups = nil
	for _, name := range slices.Sorted(maps.Keys(s.groups)) {
		g := *s.groups[name]
		g.IO = slices.Clone(g.IO)
		divide(g.Counters(), mean.Seconds)
		for n := range g.IO {
			divide(g.IO[n].Counters(), mean.Seconds)
		}
		mean.Groups = append(mean.Groups, g)
	}
}

func divide(sums []*float64, seconds float64) {
	for _, sum := range sums {
		*sum /= seconds
	}
}

// byUse orders by falling use, then by number.
func byUse(a, b float64, m, n int) int { return cmp.Or(cmp.Compare(b, a), cmp.Compare(m, n)) }
