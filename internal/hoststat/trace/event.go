package trace

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/hoststat"
)

// Event is something that a host did for a time during a load.
type Event struct {
	From  float64 `json:"from"` // in seconds since the load started
	To    float64 `json:"to"`
	Kind  string  `json:"kind"`           // such as "throttling"
	Name  string  `json:"name,omitempty"` // control group, device or program
	Value float64 `json:"value"`          // the largest one meanwhile
	Unit  string  `json:"unit"`
}

const (
	leastThrottled = 0.05    // share of quota periods
	leastSwapped   = 10      // pages per second
	leastStalled   = 1       // allocations per second that waited for memory
	leastWritten   = 8 << 20 // bytes per second
	burst          = 3       // times the median that make a burst of writes
	saturated      = 0.95    // utilisation of a device
	leastStolen    = 0.05    // share of the CPU time
	leastOthers    = 0.25    // CPUs of another program
	leastLost      = 0.01    // share of TCP segments sent again
	leastSent      = 10      // segments sent again per second
	leastFull      = 0.05    // share of time in which all tasks waited for memory
)

// Events are what a host did beside the load and those from elsewhere, in order of time. What a host did is found in each interval
// alone, so a host that does it all the time has one long event; bursts are relative to the median.
func (d *Detail) Events() (all []Event) {
	usual := d.usual()
	open := map[[2]string]int{}
	for n := range d.Intervals {
		i := &d.Intervals[n]
		now := map[[2]string]int{}
		for _, e := range d.eventsOf(i, usual) {
			key := [2]string{e.Kind, e.Name}
			at, goes := open[key]
			if !goes {
				at = len(all)
				e.From = i.At - i.Seconds
				all = append(all, e)
			}
			all[at].To, all[at].Value = i.At, max(all[at].Value, e.Value)
			now[key] = at
		}
		open = now
	}
	all = append(all, d.Made...)
	slices.SortStableFunc(all, func(a, b Event) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// usual is the median over the intervals of what devices write and other programs use, by name.
func (d *Detail) usual() map[string]float64 {
	each := map[string][]float64{}
	for n := range d.Intervals {
		i := &d.Intervals[n]
		for k := range i.Disks {
			each["disk "+i.Disks[k].Name] = append(each["disk "+i.Disks[k].Name], i.Disks[k].WriteBytes)
		}
		for name, used := range d.others(i) {
			each["program "+name] = append(each["program "+name], used)
		}
	}
	usual := map[string]float64{}
	for name, values := range each {
		for len(values) < len(d.Intervals) { // it did nothing in the others
			values = append(values, 0)
		}
		slices.Sort(values)
		usual[name] = values[len(values)/2]
	}
	return usual
}

// others is the CPUs used by programs that have no part in the study.
func (d *Detail) others(i *hoststat.Interval) map[string]float64 {
	used := map[string]float64{}
	for n := range i.Processes {
		p := &i.Processes[n]
		if p.Part(d.Served) == hoststat.Other && !slices.Contains(d.Guests, p.PID) {
			name, _, _ := strings.Cut(p.Name, "/") // kworker/0:1
			used[name] += p.Busy()
		}
	}
	return used
}

// eventsOf are the events in an interval, without their times.
func (d *Detail) eventsOf(i *hoststat.Interval, usual map[string]float64) (all []Event) {
	add := func(is bool, kind, name string, value float64, unit string) {
		if is {
			all = append(all, Event{Kind: kind, Name: name, Value: value, Unit: unit})
		}
	}
	for _, g := range i.Groups {
		share := g.ThrottledPeriods / max(1e-9, g.Periods)
		add(g.Periods > 0 && share >= leastThrottled, "throttling", g.Path, share, "share")
	}
	swapped := i.VM["pswpin"] + i.VM["pswpout"]
	add(swapped >= leastSwapped, "swapping", "", swapped, "1/s")
	stalled := i.VM["allocstall_dma"] + i.VM["allocstall_dma32"] + i.VM["allocstall_normal"] + i.VM["allocstall_movable"]
	add(stalled >= leastStalled, "waiting for memory", "", stalled, "1/s")
	add(i.Pressure["memory"].Full >= leastFull, "memory pressure", "", i.Pressure["memory"].Full, "share")
	for _, disk := range i.Disks {
		add(disk.WriteBytes >= max(leastWritten, burst*usual["disk "+disk.Name]), "write burst", disk.Name, disk.WriteBytes, "B/s")
		add(disk.Busy >= saturated, "busy device", disk.Name, disk.Busy, "share")
	}
	stolen, cpus := 0., 0.
	for _, c := range i.CPUs {
		stolen, cpus = stolen+c.Steal, cpus+c.Total()
	}
	add(cpus > 0 && stolen/cpus >= leastStolen, "steal", "", stolen/max(1e-9, cpus), "share")
	resent, sent := i.Net["Tcp.RetransSegs"], i.Net["Tcp.OutSegs"]
	add(resent >= leastSent && resent/(sent+resent) >= leastLost, "retransmissions", "", resent/max(1e-9, sent+resent), "share")
	add(math.Round(i.VM["oom_kill"]*i.Seconds) >= 1, "OOM kill", groupOfKills(i), math.Round(i.VM["oom_kill"]*i.Seconds), "1")
	for name, used := range d.others(i) {
		add(used >= leastOthers && used >= 2*usual["program "+name], "other program", name, used, "CPUs")
	}
	return all
}

// groupOfKills is the control group of a process that the OOM killer killed; empty if it is not
// known. Counts of version 2 include the groups below.
func groupOfKills(i *hoststat.Interval) (path string) {
	for _, g := range i.Groups {
		if g.Kills > 0 && len(g.Path) > len(path) {
			path = g.Path
		}
	}
	return path
}
