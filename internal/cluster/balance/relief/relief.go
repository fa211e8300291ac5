// Package relief judges the moves off a host together: many small ones may be worth it
// although none is alone.
package relief

import (
	"fmt"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/balance/draft"
	"plimsoll/internal/cluster/contention"
	"plimsoll/internal/cluster/place"
)

const million = 1_000_000

// goodness is the saving that all moves of a round off a host must reach at each level, in
// thousandths of the host's capacity.
var goodness = [6]int64{0, 0, 50, 25, 10, 0}

// busy is the load above which every move off a host counts, whatever its saving.
const busy = 900_000

// Relief bounds the savings of moves off hosts: required and possible.
type Relief struct {
	d      *draft.Draft
	each   []int64 // by host: lowest saving of a move where small ones count, in MHz
	small  bool    // small moves count, as no larger one is worth it
	closed []bool  // by host: no move is worth it in this round
	saved  []int64 // by closed host: savings of its moves, in MHz
}

// New measures the hosts. Each move off a host must save half of the saving required of all
// its moves, so that tiny moves do not add up. On a host that is busy, reclaims memory or
// could save more than twice that amount, every move counts.
func New(d *draft.Draft) *Relief {
	n := len(d.Hosts)
	f := &Relief{d: d, each: make([]int64, n), closed: make([]bool, n), saved: make([]int64, n)}
	for h := range f.each {
		o, id := &d.Hosts[h], cluster.HostID(h)
		f.each[h] = max(1, f.Least(id)/2)
		if o.Reclaims || (o.Loads.CPU > busy || f.Potential(id) > 2*f.Least(id)) && f.many(id) {
			f.each[h] = 1
		}
	}
	return f
}

// Least is the saving required of all moves off a host, in MHz.
func (f *Relief) Least(h cluster.HostID) int64 {
	return max(1, f.d.Hosts[h].Capacity.CPU*goodness[min(f.d.Cluster.Settings.Level, 5)]/1000)
}

// Needed is the saving required of each move off a host, in MHz.
func (f *Relief) Needed(h cluster.HostID) int64 {
	if f.small {
		return f.each[h]
	}
	return max(1, f.Least(h)/2)
}

// Shrink admits small moves, and reports whether that is new.
func (f *Relief) Shrink() bool {
	if f.small || !f.d.Cluster.Settings.CostBenefit {
		return false
	}
	f.small = true
	for h, each := range f.each {
		f.closed[h] = f.closed[h] && each > 1
	}
	return true
}

// many reports whether small VMs together demand half or more of a host's load above the least
// loaded host. A VM is small if it demands at most half of that load: moving others off a host
// that one large VM fills does not help.
func (f *Relief) many(h cluster.HostID) bool {
	o := &f.d.Hosts[h]
	excess, sum := contention.Part(o.Capacity.CPU, o.Loads.CPU-f.d.Lightest.CPU), int64(0)
	for _, v := range f.d.Layout.On(h) {
		if cpu := f.d.Index.Demand(v).CPU; 2*cpu <= excess {
			sum += cpu
		}
	}
	return 2*sum >= excess
}

// Potential bounds the savings of moves off a host, in MHz: its cost above the loads of the
// least loaded host, less the minimum cost of its work there. Under the score model, losses on
// its link and avoidable losses to remote memory add to it. The bound ignores that losses on
// the target leave less to delay there.
func (f *Relief) Potential(h cluster.HostID) int64 {
	model, o := f.d.Model, &f.d.Hosts[h]
	w, all, m, saved := &model.Weight[h], o.Capacity, f.d.Lightest, int64(0)
	if model.ByScore {
		saved = o.Remote + contention.Part(o.Demand.CPU, contention.Loss(o.Link, contention.LinkLimit))
	}
	if o.Loads.CPU > m.CPU {
		at := func(load int64) int64 {
			return contention.Part(contention.Part(all.CPU, load), contention.Loss(load, model.Limit))
		}
		saved += at(o.Loads.CPU) - at(m.CPU) - contention.Part(contention.Part(all.CPU, o.Loads.CPU-m.CPU), slope(m.CPU, model.Limit))
	}
	saved += model.Unevenness(contention.Square(o.Loads.CPU)*w.CPU + contention.Square(o.Loads.Memory)*w.Memory)
	if o.Loads.Memory > m.Memory {
		saved += contention.Part(all.CPU, contention.Memory(o.Demand.Memory, all.Memory)-contention.Memory(contention.Part(all.Memory, m.Memory), all.Memory))
	}
	return saved
}

// slope is the increase of lost demand per demand at a load, in millionths.
func slope(load, limit int64) int64 {
	switch {
	case load <= limit:
		return 0
	case load <= million:
		return (2*load - limit) / 4
	}
	return (million-limit)/4 + million
}

// Hopeless reports whether the moves off a host cannot be worth it.
func (f *Relief) Hopeless(h cluster.HostID) bool {
	return f.d.Cluster.Settings.CostBenefit && (f.closed[h] || f.Potential(h) < f.Least(h))
}

// Starved reports whether a host reclaims memory and moves off it could be worth it.
func (f *Relief) Starved() bool {
	for h := range f.d.Hosts {
		if f.d.Cluster.Hosts[h].Runs() && f.d.Hosts[h].Reclaims && !f.Hopeless(cluster.HostID(h)) {
			return true
		}
	}
	return false
}

// Enough reports whether the total saving of moves off a host is worth it.
func (f *Relief) Enough(h cluster.HostID, saved int64) bool {
	return !f.d.Cluster.Settings.CostBenefit || saved >= f.Least(h)
}

// Short records a total saving of moves off a host that is too small.
func (f *Relief) Short(h cluster.HostID, saved int64) { f.saved[h] = saved }

// Close excludes a host from further moves.
func (f *Relief) Close(h cluster.HostID) { f.closed[h] = true }

// Closed reports whether a host is excluded.
func (f *Relief) Closed(h cluster.HostID) bool { return f.closed[h] }

// Words explains why the moves off a host are not worth it: the bound, the total, or each
// saving is too small.
func (f *Relief) Words(s place.Step, v advice.Value) string {
	from := s.From
	name, level, least := f.d.Cluster.Hosts[from].Name, f.d.Cluster.Settings.Level, f.Least(from)
	switch potential := f.Potential(from); {
	case f.closed[from]:
		return fmt.Sprintf("all moves off %s together would save %d MHz, and level %d requires %d", name, f.saved[from], level, least)
	case potential < least:
		return fmt.Sprintf("all moves off %s together would save %d MHz at most, and level %d requires %d", name, max(0, potential), level, least)
	case v.Gain < f.Needed(from)*v.Stable:
		return fmt.Sprintf("no move off %s would save %d MHz, and level %d requires %d of all together", name, f.Needed(from), level, least)
	}
	return fmt.Sprintf("the possible moves off %s would not save the %d MHz that level %d requires", name, least, level)
}
