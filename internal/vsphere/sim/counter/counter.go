// Package counter is the performance manager of the simulator: package load computes the
// history of VMs, hosts, pools and clusters that clients query.
package counter

import (
	"fmt"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/sim/clock"
	"plimsoll/internal/vsphere/sim/load"
	"plimsoll/internal/vsphere/sim/shadow"
)

type reference = types.ManagedObjectReference

// The sampling intervals in seconds, and the retention of the shortest.
const (
	realtime   = 20
	historical = 300
	recent     = time.Hour
)

// Room is the performance counters of a simulator.
type Room struct {
	reg   *simulator.Registry
	clock *clock.Clock
	load  *load.Load
	known map[int32]bool
	rows  map[int32]*row // by the key of the counter; those of several kinds of objects are consecutive
	more  map[*row]*row
	order []int32
}

// New creates the counters of a performance manager.
func New(reg *simulator.Registry, of reference, c *clock.Clock, l *load.Load) *Room {
	r := &Room{reg: reg, clock: c, load: l, known: map[int32]bool{}, rows: map[int32]*row{}, more: map[*row]*row{}}
	manager, ok := reg.Get(of).(*simulator.PerformanceManager)
	if !ok {
		return r
	}
	keys := map[string]int32{}
	for i := range manager.PerfCounter {
		p := &manager.PerfCounter[i]
		r.known[p.Key], keys[nameOf(p)] = true, p.Key
	}
	rows := withExtremes(table())
	for i := range rows {
		w := &rows[i]
		key, known := keys[w.group+"."+w.name+"."+string(w.rollup)]
		if !known {
			continue
		}
		if before := r.rows[key]; before != nil {
			r.more[w] = before
		} else {
			r.order = append(r.order, key)
		}
		r.rows[key] = w
	}
	manager.HistoricalInterval = intervals()
	return r
}

func nameOf(p *types.PerfCounterInfo) string {
	return p.GroupInfo.GetElementDescription().Key + "." + p.NameInfo.GetElementDescription().Key + "." + string(p.RollupType)
}

// level is the statistics level: at this one vCenter also keeps minima and maxima.
const level = 4

// intervals are those of vCenter.
func intervals() (list []types.PerfInterval) {
	const day = 86_400
	for i, n := range []types.PerfInterval{
		{Name: "Past day", SamplingPeriod: historical, Length: day}, {Name: "Past week", SamplingPeriod: 1800, Length: 7 * day},
		{Name: "Past month", SamplingPeriod: 7200, Length: 30 * day}, {Name: "Past year", SamplingPeriod: day, Length: 365 * day},
	} {
		n.Key, n.Level, n.Enabled = int32(i+1), level, true
		list = append(list, n)
	}
	return list
}

// Wrap shadows the performance manager.
func (r *Room) Wrap(of mo.Reference) mo.Reference {
	if o, ok := of.(*simulator.PerformanceManager); ok {
		return &manager{PerformanceManager: o, room: r}
	}
	return nil
}

type manager struct {
	*simulator.PerformanceManager
	shadow.Unlocked
	room *Room
}

// row is a counter of a kind of objects; nil if they lack it.
func (r *Room) row(key int32, of kinds) *row {
	for w := r.rows[key]; w != nil; w = r.more[w] {
		if w.of&of != 0 {
			return w
		}
	}
	return nil
}

// missing is the fault of an object that does not exist.
func (r *Room) missing(of reference) *soap.Fault {
	if r.reg.Get(of) == nil {
		return simulator.Fault("", &types.ManagedObjectNotFound{Obj: of})
	}
	return nil
}

// lives reports whether a kind of objects has samples of 20 s.
func (k kinds) lives() bool { return k&(vm|host|pool) != 0 }

// QueryPerfCounter describes counters.
func (m *manager) QueryPerfCounter(_ *simulator.Context, r *types.QueryPerfCounter) soap.HasFault {
	body := &methods.QueryPerfCounterBody{Res: new(types.QueryPerfCounterResponse)}
	known := map[int32]types.PerfCounterInfo{}
	for _, p := range m.PerfCounter {
		known[p.Key] = p
	}
	for _, key := range r.CounterId {
		p, is := known[key]
		if !is {
			return &methods.QueryPerfCounterBody{Fault_: simulator.Fault(fmt.Sprintf("there is no counter %d", key), &types.InvalidArgument{InvalidProperty: "counterId"})}
		}
		body.Res.Returnval = append(body.Res.Returnval, p)
	}
	return body
}

// QueryPerfProviderSummary describes the intervals of an object.
func (m *manager) QueryPerfProviderSummary(_ *simulator.Context, r *types.QueryPerfProviderSummary) soap.HasFault {
	if fault := m.room.missing(r.Entity); fault != nil {
		return &methods.QueryPerfProviderSummaryBody{Fault_: fault}
	}
	is := types.PerfProviderSummary{Entity: r.Entity, SummarySupported: true}
	if kindOf[r.Entity.Type].lives() {
		is.CurrentSupported, is.RefreshRate = true, realtime
	}
	return &methods.QueryPerfProviderSummaryBody{Res: &types.QueryPerfProviderSummaryResponse{Returnval: is}}
}

// QueryAvailablePerfMetric lists the counters of an object.
func (m *manager) QueryAvailablePerfMetric(_ *simulator.Context, r *types.QueryAvailablePerfMetric) soap.HasFault {
	if fault := m.room.missing(r.Entity); fault != nil {
		return &methods.QueryAvailablePerfMetricBody{Fault_: fault}
	}
	is := new(types.QueryAvailablePerfMetricResponse)
	kind := kindOf[r.Entity.Type]
	if r.IntervalId != realtime || kind.lives() {
		is.Returnval = m.room.metrics(kind, r.IntervalId != realtime)
	}
	return &methods.QueryAvailablePerfMetricBody{Res: is}
}

// metrics are the counters of a kind of objects: those of past days include minima and maxima.
func (r *Room) metrics(of kinds, past bool) (list []types.PerfMetricId) {
	for _, key := range r.order {
		if w := r.row(key, of); w != nil && (past || !w.extreme()) {
			list = append(list, types.PerfMetricId{CounterId: key})
		}
	}
	return list
}
