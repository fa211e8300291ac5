package diagnosis

import (
	"maps"
	"slices"

	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/psi"
)

// During is the evidence of those intervals for which a condition holds, and their share of the
// time. Its mean has pressure, disks and processes of these intervals, without threads; the rest is
// of the whole time.
func (e *Evidence) During(holds func(i *hoststat.Interval) bool) (part *Evidence, share float64) {
	one := *e
	mean := *e.Mean
	one.Mean, one.Intervals = &mean, nil
	mean.Seconds, mean.Disks, mean.Processes, mean.Pressure = 0, nil, nil, map[string]psi.Pressure{}
	whole := 0.
	for n := range e.Intervals {
		i := &e.Intervals[n]
		if whole += i.Seconds; holds(i) {
			one.Intervals = append(one.Intervals, *i)
			mean.Seconds += i.Seconds
		}
	}
	for n := range one.Intervals {
		i := &one.Intervals[n]
		weight := i.Seconds / mean.Seconds
		for name, p := range i.Pressure {
			sum := mean.Pressure[name]
			add(sum.Counters(), p.Counters(), weight)
			mean.Pressure[name] = sum
		}
		for k := range i.Disks {
			addDisk(&mean, &i.Disks[k], weight)
		}
		for k := range i.Processes {
			addProcess(&mean, &i.Processes[k], weight)
		}
	}
	return &one, mean.Seconds / max(1e-9, whole)
}

func add(sums, values []*float64, weight float64) {
	for n := range sums {
		*sums[n] += weight * *values[n]
	}
}

func addDisk(mean *hoststat.Interval, d *hoststat.Disk, weight float64) {
	at := slices.IndexFunc(mean.Disks, func(x hoststat.Disk) bool { return x.Name == d.Name })
	if at < 0 {
		at = len(mean.Disks)
		mean.Disks = append(mean.Disks, hoststat.Disk{Name: d.Name, Number: d.Number})
	}
	sum := &mean.Disks[at]
	add(append(sum.Counters(), &sum.InDriver), append(d.Counters(), &d.InDriver), weight)
}

// addProcess adds a process. What it is, and what is not a counter, are those of its last interval
// with details.
func addProcess(mean *hoststat.Interval, p *hoststat.Process, weight float64) {
	at := slices.IndexFunc(mean.Processes, func(x hoststat.Process) bool { return x.PID == p.PID && x.Started == p.Started })
	if at < 0 {
		at = len(mean.Processes)
		mean.Processes = append(mean.Processes, hoststat.Process{})
	}
	was := mean.Processes[at]
	now := *p
	if was.Detailed && !p.Detailed {
		now = was
	}
	now.Blocked, now.Waits, now.Tasks = was.Blocked+weight*p.Blocked, maps.Clone(was.Waits), nil
	if now.Waits == nil {
		now.Waits = hoststat.Waits{}
	}
	for function, threads := range p.Waits {
		now.Waits[function] += weight * threads
	}
	sums, before, values := now.Counters(), was.Counters(), p.Counters()
	for n := range sums {
		*sums[n] = *before[n] + weight**values[n]
	}
	mean.Processes[at] = now
}
