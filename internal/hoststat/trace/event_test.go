package trace_test

import (
	"testing"

	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/cgroup"
	"plimsoll/internal/hoststat/psi"
	"plimsoll/internal/hoststat/trace"
)

// Each kind of event is found in its intervals, neighbours are one event, and a quiet host has
// none.
func TestEvents(t *testing.T) {
	make := func(n int) hoststat.Interval {
		return hoststat.Interval{
			At: float64(n + 1), Seconds: 1, CPUs: []hoststat.CPU{{User: .5, Idle: .5}}, VM: map[string]float64{"pswpin": 1},
			Disks:     []hoststat.Disk{{Name: "vda", WriteBytes: 4 << 20, Busy: .3}},
			Processes: []hoststat.Process{{Name: "redis-server", User: .9, Origin: "redis-server /tmp"}, {Name: "kworker/0:1", System: .1}, {Name: "busy", User: .3}},
			Groups:    []cgroup.Group{{Path: "/a", Periods: 10}}, Net: map[string]float64{"Tcp.OutSegs": 1000, "Tcp.RetransSegs": 2},
		}
	}
	var d trace.Detail
	d.Served, d.Guests = true, []int{41}
	for n := range 10 {
		d.Intervals = append(d.Intervals, make(n))
	}
	if all := d.Events(); len(all) > 0 {
		t.Errorf("a quiet host has %+v", all)
	}
	for _, n := range []int{3, 4} {
		i := &d.Intervals[n]
		i.Groups[0].ThrottledPeriods = float64(n)
		i.VM = map[string]float64{"pswpout": 500, "allocstall_normal": 4, "oom_kill": 2}
		i.Groups = append(i.Groups, cgroup.Group{Path: "/a/b", Kills: 2}, cgroup.Group{Path: "/a/b/c"})
		i.Disks[0].WriteBytes, i.Disks[0].Busy = 100<<20, .99
		i.Processes = append(i.Processes, hoststat.Process{Name: "cc1", User: 1.5}, hoststat.Process{Name: "kworker/1:0", System: .4}, hoststat.Process{PID: 41, Name: "qemu-system-x86", User: 1})
		i.Net["Tcp.RetransSegs"] = 50
		i.CPUs[0].Steal, i.CPUs[0].Idle = .2, .3
		i.Pressure = map[string]psi.Pressure{"memory": {Full: .3}}
	}
	d.Intervals[8].Groups[0].ThrottledPeriods = 10
	want := map[string]int{
		"throttling /a": 2, "swapping ": 1, "waiting for memory ": 1, "write burst vda": 1, "busy device vda": 1,
		"other program cc1": 1, "other program kworker": 1, "retransmissions ": 1, "steal ": 1, "memory pressure ": 1,
		"OOM kill /a/b": 1,
	}
	got := map[string]int{}
	for _, e := range d.Events() {
		got[e.Kind+" "+e.Name]++
		if first := e.From == 3 && e.To == 5; !first && !(e.Kind == "throttling" && e.From == 8 && e.To == 9 && e.Value == 1) {
			t.Errorf("%+v", e)
		}
	}
	for name, n := range want {
		if got[name] != n {
			t.Errorf("%d of %s, want %d", got[name], name, n)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("also %v", got)
	}
}
