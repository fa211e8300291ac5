package counter

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/collect"
	"plimsoll/internal/live"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/vsphere/vspheretest"
)

// performance samples every second, by a function of the test: each VM and host has the same values.
// A sample can be read for the first time a while after its end.
type performance struct {
	*simulator.PerformanceManager
	ahead time.Duration // of its clock
	late  time.Duration

	mu      sync.Mutex
	asked   int // calls of QueryPerf
	before  func(*types.QueryPerf) types.BaseMethodFault
	without string // a counter that it never has
}

// usage is the only value that is not 0: MHz by the second of the clock.
func usage(second int64) int64 { return 1000 + second%10 }

// QueryPerfProviderSummary says how often it samples.
func (p *performance) QueryPerfProviderSummary(r *types.QueryPerfProviderSummary) soap.HasFault {
	return &methods.QueryPerfProviderSummaryBody{Res: &types.QueryPerfProviderSummaryResponse{
		Returnval: types.PerfProviderSummary{Entity: r.Entity, CurrentSupported: true, SummarySupported: true, RefreshRate: 1},
	}}
}

// QueryPerf answers as CSV.
func (p *performance) QueryPerf(ctx *simulator.Context, r *types.QueryPerf) soap.HasFault {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	if p.before != nil {
		if f := p.before(r); f != nil {
			return &methods.QueryPerfBody{Fault_: simulator.Fault("", f)}
		}
	}
	answer := &types.QueryPerfResponse{}
	for _, q := range r.QuerySpec {
		if ctx.Map.Get(q.Entity) == nil {
			return &methods.QueryPerfBody{Fault_: simulator.Fault("", &types.ManagedObjectNotFound{Obj: q.Entity})}
		}
		answer.Returnval = append(answer.Returnval, p.samples(q))
	}
	return &methods.QueryPerfBody{Res: answer}
}

func (p *performance) samples(q types.PerfQuerySpec) *types.PerfEntityMetricCSV {
	out := &types.PerfEntityMetricCSV{PerfEntityMetricBase: types.PerfEntityMetricBase{Entity: q.Entity}}
	var times, values []string
	last := time.Now().Add(p.ahead - p.late)
	for at := q.StartTime.Truncate(time.Second).Add(time.Second); !at.After(*q.EndTime) && !at.After(last); at = at.Add(time.Second) {
		times = append(times, "1", at.UTC().Format(time.RFC3339))
		values = append(values, fmt.Sprint(usage(at.Unix())))
	}
	out.SampleInfoCSV = strings.Join(times, ",")
	for _, m := range q.MetricId {
		name := ""
		for _, c := range p.PerfCounter {
			if c.Key == m.CounterId {
				name = c.GroupInfo.GetElementDescription().Key + "." + c.NameInfo.GetElementDescription().Key
			}
		}
		text := strings.Join(values, ",")
		if name != "cpu.usagemhz" {
			text = strings.Repeat("0,", max(0, len(values)-1)) + "0"
		}
		if name != p.without {
			out.Value = append(out.Value, types.PerfMetricSeriesCSV{PerfMetricSeries: types.PerfMetricSeries{Id: m}, Value: text})
		}
	}
	return out
}

func (p *performance) set(how func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	how()
}

// sampling starts a simulator that samples.
func sampling(t *testing.T, hosts, vms int) (*vspheretest.VCenter, *performance) {
	t.Helper()
	vc := vspheretest.Start(t, hosts, vms)
	at := *vc.Model.ServiceContent.PerfManager
	p := &performance{PerformanceManager: vc.Model.Map().Get(at).(*simulator.PerformanceManager)}
	vc.Model.Map().Put(p)
	return vc, p
}

// feedOf opens the counters of VMs and hosts.
func feedOf(t *testing.T, at live.Address, vms, hosts []string) *monitorReader {
	t.Helper()
	wanted, err := Settings{VMs: vms, Hosts: hosts}.wanted()
	if err != nil {
		t.Fatal(err)
	}
	f, err := open(t.Context(), at, wanted)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f.(*monitorReader)
}

// past is a window of some seconds that ended a while ago, as a load before the test would have.
func past(seconds, ago float64) (began time.Time, w measure.Window) {
	return time.Now().Add(-time.Duration((seconds + ago) * float64(time.Second))), measure.Window{End: seconds}
}

func over(t *testing.T, f *monitorReader, seconds, ago float64) collect.Sampled {
	t.Helper()
	began, w := past(seconds, ago)
	s, err := f.Over(t.Context(), began, w)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCountersOfAWindow(t *testing.T) {
	t.Parallel()
	vc, p := sampling(t, 2, 2)
	f := feedOf(t, vc.Address(t), []string{"DC0_C0_RP0_VM?"}, []string{"DC0_C0_H1"})
	s := over(t, f, 10, 2)
	c := s.Counters
	if c["vsphere.vms"] != 4 || c["vsphere.hosts"] != 1 || c["vsphere.vm.samples"] < 9 || c["vsphere.vm.samples"] > 12 {
		t.Errorf("counters %v", c)
	}
	if v, h := c["vsphere.vm.cpu.usage"], c["vsphere.host.cpu.usage"]; v < 4*1000e6 || v > 4*1009e6 || math.Abs(v-4*h) > 1 {
		t.Errorf("4 VMs use %g, a host %g", v, h)
	}
	if v, has := c["vsphere.vm.cpu.ready"]; !has || v != 0 || math.Abs(c["vsphere.clock.offset"]) > 1 || c["vsphere.clock.error"] <= 0 {
		t.Errorf("counters %v", c)
	}
	if p.asked != 1 {
		t.Errorf("%d calls of QueryPerf for 5 objects", p.asked)
	}
	for _, line := range s.Missing { // the window was before the feed
		if !strings.HasPrefix(line, "quickStats were not read") {
			t.Errorf("says %q", line)
		}
	}
	if n := strings.Count(string(s.Table), "\n"); n != 1+int(c["vsphere.vm.samples"])*(4*len(counters(ofVM))+len(counters(ofHost))) {
		t.Errorf("the table has %d lines", n)
	}
}

// fast is a vCenter whose clock is ahead.
type fast struct {
	*simulator.ServiceInstance
	by time.Duration
}

// CurrentTime is the time of the clock.
func (f *fast) CurrentTime(*types.CurrentTime) soap.HasFault {
	return &methods.CurrentTimeBody{Res: &types.CurrentTimeResponse{Returnval: time.Now().Add(f.by)}}
}

// The window is that of this host, whatever the vCenter's clock shows.
func TestAVCenterWhoseClockIsAhead(t *testing.T) {
	t.Parallel()
	vc, p := sampling(t, 1, 1)
	p.ahead = time.Hour
	before := vc.Model.Map().Handler
	vc.Model.Map().Handler = func(ctx *simulator.Context, m *simulator.Method) (mo.Reference, types.BaseMethodFault) {
		if o, is := ctx.Map.Get(m.This).(*simulator.ServiceInstance); is && ctx.Session != nil {
			ctx.Session.Registry.Put(&fast{o, p.ahead})
		}
		return before(ctx, m)
	}
	f := feedOf(t, vc.Address(t), nil, []string{"*"})
	s := over(t, f, 5, 2)
	if off := s.Counters["vsphere.clock.offset"]; math.Abs(off-3600) > 1 || s.Counters["vsphere.host.samples"] < 4 || len(s.Missing) > 1 {
		t.Errorf("counters %v, says %q", s.Counters, s.Missing)
	}
	first, _, _ := strings.Cut(strings.SplitAfterN(string(s.Table), "\n", 3)[1], ",")
	if at, err := strconv.ParseFloat(first, 64); err != nil || at < -1 || at > 3 {
		t.Errorf("the first sample ends %s s after the load began", first)
	}
	p.set(func() { p.ahead += time.Minute })              // its clock is set during a load
	vc.Expire(t)                                          // the next session gets the new clock
	about := regexp.MustCompile(`changed by (59\.9|1m0)`) // it is measured over a round trip
	if s = over(t, f, 5, 2); !slices.ContainsFunc(s.Missing, about.MatchString) {
		t.Errorf("says %q", s.Missing)
	}
}

func TestSamplesThatAreLate(t *testing.T) {
	t.Parallel()
	vc, p := sampling(t, 1, 1)
	f := feedOf(t, vc.Address(t), nil, []string{"*"})
	p.set(func() { p.late = 400 * time.Millisecond })
	if s := over(t, f, 5, 0); s.Counters["vsphere.host.samples"] < 4 || slices.ContainsFunc(s.Missing, func(l string) bool { return strings.Contains(l, "samples of the window") }) {
		t.Errorf("a little late: %v, says %q", s.Counters, s.Missing)
	}
	if p.asked < 2 {
		t.Errorf("asked %d times", p.asked)
	}
	p.set(func() { p.late = time.Minute })
	s := over(t, f, 5, 0)
	if _, has := s.Counters["vsphere.host.cpu.usage"]; has || !slices.ContainsFunc(s.Missing, func(l string) bool { return strings.Contains(l, "host DC0_C0_H0") }) {
		t.Errorf("for good: %v, says %q", s.Counters, s.Missing)
	}
}

func TestTroubleWithCounters(t *testing.T) {
	t.Parallel()
	vc, p := sampling(t, 1, 3)
	f := feedOf(t, vc.Address(t), []string{"*"}, nil)
	vc.Expire(t) // in the middle of a load
	if s := over(t, f, 5, 2); s.Counters["vsphere.vms"] != 3 || s.Counters["vsphere.vm.cpu.usage"] == 0 {
		t.Errorf("after the session expired: %v, says %q", s.Counters, s.Missing)
	}
	vc.PowerOff(t, f.objects[2].ref)
	less := over(t, feedOf(t, vc.Address(t), []string{"*"}, nil), 5, 2)
	if less.Counters["vsphere.vms"] != 2 || !slices.Contains(less.Missing, "1 of 3 VMs that match * are off, and are skipped") {
		t.Errorf("with a VM that is off: %v, says %q", less.Counters, less.Missing)
	}
	p.set(func() { p.without = "cpu.costop" })
	s := over(t, f, 5, 2)
	if _, has := s.Counters["vsphere.vm.cpu.costop"]; has || !slices.Contains(s.Missing, "the vCenter has no values of VMs for vsphere.vm.cpu.costop") || s.Counters["vsphere.vm.cpu.usage"] == 0 {
		t.Errorf("without a counter: %v, says %q", s.Counters, s.Missing)
	}
	denied := f.objects[1].ref
	p.set(func() {
		p.before = func(r *types.QueryPerf) types.BaseMethodFault {
			if slices.ContainsFunc(r.QuerySpec, func(q types.PerfQuerySpec) bool { return q.Entity == denied }) {
				return &types.NoPermission{Object: &denied, PrivilegeId: "System.Read"}
			}
			return nil
		}
	})
	s = over(t, f, 5, 2)
	if _, has := s.Counters["vsphere.vm.cpu.usage"]; has || !slices.Contains(s.Missing, "VM DC0_C0_RP0_VM1: the account lacks the privilege System.Read on it") {
		t.Errorf("without permission: %v, says %q", s.Counters, s.Missing)
	}
	p.set(func() { p.before = nil })
	vc.Remove(denied)
	if s = over(t, f, 5, 2); s.Counters["vsphere.vms"] != 2 || s.Counters["vsphere.vm.cpu.usage"] == 0 || !slices.Contains(s.Missing, "1 VMs of a pattern vanished: the counters are those of the others") {
		t.Errorf("after a VM vanished: %v, says %q", s.Counters, s.Missing)
	}
	p.set(func() { p.before = func(*types.QueryPerf) types.BaseMethodFault { return &types.NotSupported{} } })
	if s = over(t, f, 5, 2); slices.ContainsFunc(slices.Collect(maps.Keys(s.Counters)), func(n string) bool { return strings.Contains(n, "vm.cpu") }) {
		t.Errorf("refused: %v, says %q", s.Counters, s.Missing)
	}
}

func TestWhatCannotBeFound(t *testing.T) {
	t.Parallel()
	vc, _ := sampling(t, 1, 1)
	wanted, err := Settings{VMs: []string{"nobody"}}.wanted()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open(t.Context(), vc.Address(t), wanted); err == nil || !strings.Contains(err.Error(), "no VM nobody") {
		t.Errorf("a VM that does not exist: %v", err)
	}
	// VMs of a study may not be there before its first trial.
	if s := over(t, feedOf(t, vc.Address(t), []string{"no*"}, nil), 5, 2); !slices.Equal(s.Missing, []string{"no VM fits no*"}) || len(s.Counters) != 2 {
		t.Errorf("a pattern that fits nothing: %v, says %q", s.Counters, s.Missing)
	}
	a := parameter.List([]string{"a"})
	for _, settings := range []parameter.Settings{
		{}, {"vms": parameter.List([]string{"a["})}, {"vms": a, "address": "a.host"}, {"vms": a, "address": "proxmox://u@h"}, {"vms": a, "address": "vsphere://u:secret@h"},
	} {
		if _, err := build(settings); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v: %v", settings, err)
		}
	}
	m, err := Kind().New(parameter.Settings{"hosts": parameter.List([]string{"*"})})
	if err != nil || m.Own {
		t.Fatalf("%+v, %v", m, err)
	}
	at := vc.Address(t)
	of, err := m.Open(t.Context(), load.Endpoint{Address: at.Host, User: at.User, Secret: at.Parameters["password"], Thumbprint: at.Parameters["thumbprint"]})
	if err != nil {
		t.Fatal(err)
	}
	if err := of.Close(); err != nil {
		t.Error(err)
	}
}

// Counters that a vCenter lacks, or has in another unit, are said, and the others are read.
func TestCountersThatAVCenterLacks(t *testing.T) {
	t.Parallel()
	vc, p := sampling(t, 1, 1)
	p.PerfCounter = slices.Clone(p.PerfCounter)
	p.PerfCounter = slices.DeleteFunc(p.PerfCounter, func(c types.PerfCounterInfo) bool {
		return c.GroupInfo.GetElementDescription().Key == "mem" && c.NameInfo.GetElementDescription().Key == "vmmemctl"
	})
	for i, c := range p.PerfCounter {
		if c.GroupInfo.GetElementDescription().Key == "mem" && c.NameInfo.GetElementDescription().Key == "active" {
			p.PerfCounter[i].UnitInfo = &types.ElementDescription{Key: "megaBytes"}
		}
	}
	s := over(t, feedOf(t, vc.Address(t), nil, []string{"*"}), 5, 2)
	for _, want := range []string{
		"vsphere.host.memory.balloon: the vCenter has no counter mem.vmmemctl.average",
		"vsphere.host.memory.active: the vCenter's counter mem.active.average is in megaBytes, not in kiloBytes",
	} {
		if !slices.Contains(s.Missing, want) {
			t.Errorf("says %q, not %q", s.Missing, want)
		}
	}
	if _, has := s.Counters["vsphere.host.memory.active"]; has || s.Counters["vsphere.host.cpu.usage"] == 0 {
		t.Errorf("counters %v", s.Counters)
	}
}

// quickStats that are read while a load runs are those of its window.
func TestQuickStats(t *testing.T) {
	t.Parallel()
	vc, _ := sampling(t, 1, 2)
	for _, vm := range vc.Model.Map().All("VirtualMachine") {
		vc.Do(vm.Reference(), types.PropertyChange{Name: "summary.quickStats.overallCpuUsage", Val: int32(700)}, types.PropertyChange{Name: "summary.quickStats.hostMemoryUsage", Val: int32(64)})
	}
	began := time.Now()
	f := feedOf(t, vc.Address(t), []string{"*"}, nil)
	f.glances.read(t.Context())
	s, err := f.Over(t.Context(), began, measure.Window{End: time.Since(began).Seconds()})
	if err != nil {
		t.Fatal(err)
	}
	if c := s.Counters; c["vsphere.vm.quick.cpu.usage"] != 1400e6 || c["vsphere.vm.quick.memory.consumed"] != 128<<20 {
		t.Errorf("counters %v, says %q", c, s.Missing)
	}
}
