package balance

import (
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/contention"
	"plimsoll/internal/cluster/place"
)

// goodness is the part of its host's capacity that the moves of a round off a host must
// save at least at each level, in thousandths.
var goodness = [6]int64{0, 0, 50, 25, 10, 0}

// relief judges the moves off a host together: many small ones may be worth it where none
// of them is.
type relief struct {
	*round
	lightest contention.Pair // the least loads of hosts that can be used
	each     []int64         // by host: what each move must save at least where small ones are looked at, in MHz
	small    bool            // they are: no larger one is worth it any more
	closed   []bool          // by host: its moves are not worth it in this round
	saved    []int64         // by host that is closed: what they would have saved, in MHz
}

// least is what the moves off a host must save at least, in MHz.
func (r *round) least(h cluster.HostID) int64 {
	return max(1, r.x.Capacity(h).CPU*goodness[min(r.c.Settings.Level, 5)]/1000)
}

// busy is the load above which every move off a host counts, however little it saves.
const busy = 900_000

// needed is what each move off a host must save at least, in MHz: half of what all must
// together, and what measure found once small moves are looked at.
func (f *relief) needed(from cluster.HostID) int64 {
	if f.small {
		return f.each[from]
	}
	return max(1, f.least(from)/2)
}

// shrink has small moves looked at, and says whether they were not before.
func (f *relief) shrink() bool {
	if f.small || !f.c.Settings.CostBenefit {
		return false
	}
	f.small = true
	for h, each := range f.each {
		f.closed[h] = f.closed[h] && each > 1
	}
	return true
}

// measure finds what each move off a host must save at least, in MHz, as the hosts are now:
// half of what its moves must save together, so that no host is relieved of crumbs. Of a host
// that is busy, reclaims memory or has more than twice that to save, every move counts.
func (f *relief) measure() {
	for h := range f.each {
		o, id := &f.outlooks[h], cluster.HostID(h)
		f.each[h] = max(1, f.least(id)/2)
		if o.reclaims || (o.loads.CPU > busy || f.potential(id) > 2*f.least(id)) && f.many(id) {
			f.each[h] = 1
		}
	}
}

// many says whether VMs that each ask for at most half of what a host has above the least loaded
// one ask together for half of that or more: where one large VM makes a host full, it
// does not help to move those beside it.
func (f *relief) many(h cluster.HostID) bool {
	excess, sum := contention.Part(f.outlooks[h].capacity.CPU, f.outlooks[h].loads.CPU-f.lightest.CPU), int64(0)
	for _, v := range f.l.On(h) {
		if cpu := f.x.Demand(v).CPU; 2*cpu <= excess {
			sum += cpu
		}
	}
	return 2*sum >= excess
}

// potential bounds what moves off a host can save, in MHz: what it costs above the loads of
// the least loaded host, less what its work costs there at least. By the model of scores, what
// is lost to its link adds to it, and what is lost on memory of other nodes and might not be
// elsewhere; that such a loss on the target leaves less to slow down there is not counted.
func (f *relief) potential(h cluster.HostID) int64 {
	o, w := &f.outlooks[h], &f.model.Weight[h]
	all, m, saved := o.capacity, f.lightest, int64(0)
	if f.byScore {
		saved = o.astray + contention.Part(o.demand.CPU, contention.Loss(contention.Load(f.burden[h].Link, f.c.Hosts[h].NIC), contention.LinkLimit))
	}
	if o.loads.CPU > m.CPU {
		at := func(load int64) int64 {
			return contention.Part(contention.Part(all.CPU, load), contention.Loss(load, f.model.Limit))
		}
		saved += at(o.loads.CPU) - at(m.CPU) - contention.Part(contention.Part(all.CPU, o.loads.CPU-m.CPU), slope(m.CPU, f.model.Limit))
	}
	saved += f.model.Unevenness(contention.Square(o.loads.CPU)*w.CPU + contention.Square(o.loads.Memory)*w.Memory)
	if o.loads.Memory > m.Memory {
		saved += contention.Part(all.CPU, contention.Memory(o.demand.Memory, all.Memory)-contention.Memory(contention.Part(all.Memory, m.Memory), all.Memory))
	}
	return saved
}

// slope is by how much the demand that is lost grows with demand at a load, in millionths.
func slope(load, limit int64) int64 {
	switch {
	case load <= limit:
		return 0
	case load <= million:
		return (2*load - limit) / 4
	}
	return (million-limit)/4 + million
}

// hopeless says whether the moves off a host cannot be worth it.
func (f *relief) hopeless(h cluster.HostID) bool {
	return f.c.Settings.CostBenefit && (f.closed[h] || f.potential(h) < f.least(h))
}

// starved says whether a host reclaims memory and moves off it could be worth it.
func (f *relief) starved() bool {
	for h := range f.c.Hosts {
		o := &f.outlooks[h]
		if f.c.Hosts[h].Runs() && o.reclaims && !f.hopeless(cluster.HostID(h)) {
			return true
		}
	}
	return false
}

// off plans moves off a host, each time the best, until they save what its level asks for in
// all: first the one that stands first in its row. It plans none where they do not, and as
// many as end before the next round and are no more than most. A host that it plans none for
// is closed.
func (f *relief) off(from cluster.HostID, most int) {
	begin, end, saved := len(f.plan.Moves), -1, int64(0)
	for s, found := f.first(from), true; found; s, found = f.next(from) {
		unit, v := f.units.with(f.l, s.VM), f.value(s)
		if end < 0 && (!f.inTime(s) || len(f.plan.Moves)-begin+len(unit) > most) {
			end = len(f.plan.Moves)
		}
		saved += v.Gain / max(1, v.Stable)
		f.carry(unit, s, v)
		if !f.c.Settings.CostBenefit || saved >= f.least(from) || saved+f.potential(from) < f.least(from) {
			break
		}
	}
	switch {
	case f.c.Settings.CostBenefit && saved < f.least(from):
		f.saved[from] = saved
		f.undo(begin)
	case end >= 0:
		f.undo(end)
	}
	if len(f.plan.Moves) == begin {
		f.closed[from], f.rows[from] = true, nil
		f.heads.again(f.round, int(from))
		return
	}
	f.changed(f.plan.Moves[begin:])
}

// first is the move that stands first in the row of a host.
func (f *relief) first(from cluster.HostID) place.Step {
	w := f.rows[from]
	return place.Step{VM: w.vm[w.first], From: from, To: cluster.HostID(w.first)}
}

// next is the best move off a host as the layout is now, however long the moves take, after
// which the cluster survives the failures that it should as well as before.
func (f *relief) next(from cluster.HostID) (place.Step, bool) {
	busy := f.busy
	f.busy = nil
	defer func() { f.busy = busy }()
	f.fill(from)
	for f.rows[from] != nil {
		if w := f.settle(from); w.merit[w.first] == 0 {
			break
		}
		s := f.first(from)
		why := f.strains(s)
		if why == "" {
			return s, true
		}
		f.barred[s] = why
		f.refresh(from, s.To)
	}
	return place.Step{}, false
}

// carry takes a move for the load into the plan.
func (f *relief) carry(unit []cluster.VMID, s place.Step, v advice.Value) {
	why := advice.FairCPU
	if p := loads(f.l, f.x, s.From); p.Memory > p.CPU {
		why = advice.FairMemory
	}
	f.steps++
	note := f.units.note(f.c, unit)
	for _, s.VM = range unit {
		f.enter(s, why, cluster.Nowhere, v)
		f.plan.Moves[len(f.plan.Moves)-1].Note = note
		f.spend(s, 1)
	}
	f.mean = f.means()
}

// touched are the hosts of some moves.
func touched(moves []advice.Move) (list []cluster.HostID) {
	for _, m := range moves {
		for _, h := range [...]cluster.HostID{m.From, m.To} {
			if !slices.Contains(list, h) {
				list = append(list, h)
			}
		}
	}
	return list
}

// undo takes the moves for the load from one on out of the plan.
func (f *relief) undo(begin int) {
	for _, m := range slices.Backward(f.plan.Moves[begin:]) {
		f.l.Move(m.VM, m.From)
		one := f.units.alone[m.VM : m.VM+1]
		f.burden[m.To] = f.burden[m.To].Plus(f.bears(one, m.To), -1)
		f.burden[m.From] = f.burden[m.From].Plus(f.bears(one, m.From), 1)
		f.moved[m.VM] = false
		f.spend(m.Step, -1)
	}
	for _, h := range touched(f.plan.Moves[begin:]) {
		f.outlook(h)
	}
	f.mean = f.means()
	if f.steps = 0; begin > 0 {
		f.steps = f.plan.Moves[begin-1].Number
	}
	f.plan.Moves = f.plan.Moves[:begin]
}

// worth says whether a move would be worth it with the others off its host, of which it need
// not be the best. Nothing may be planned yet.
func (f *relief) worth(s place.Step) bool {
	if v := f.value(s); !f.c.Settings.CostBenefit || v.Gain >= f.least(s.From)*v.Stable {
		return true
	}
	if f.busy == nil {
		f.busy = make([]int64, len(f.c.Hosts))
	}
	for {
		if f.hopeless(s.From) {
			return false
		}
		f.fill(s.From)
		if f.rows[s.From] != nil {
			if w := f.settle(s.From); w.merit[w.first] > 0 {
				f.off(s.From, math.MaxInt)
				if !f.closed[s.From] {
					return true
				}
			}
		}
		if !f.shrink() {
			return false
		}
	}
}

// words say why the moves off a host are not worth it: the bound of what they save is too
// low, or what they would save, or each of those that can be made saves too little to count.
func (f *relief) words(s place.Step, v advice.Value) string {
	from := s.From
	name, level, least := f.c.Hosts[from].Name, f.c.Settings.Level, f.least(from)
	switch potential := f.potential(from); {
	case f.closed[from]:
		return fmt.Sprintf("all moves off %s together would save %d MHz, and level %d requires %d", name, f.saved[from], level, least)
	case potential < least:
		return fmt.Sprintf("all moves off %s together would save %d MHz at most, and level %d requires %d", name, max(0, potential), level, least)
	case v.Gain < f.needed(from)*v.Stable:
		return fmt.Sprintf("no move off %s would save %d MHz, and level %d requires %d of all together", name, f.needed(from), level, least)
	}
	return fmt.Sprintf("the moves off %s that can be made would not save the %d MHz that level %d requires", name, least, level)
}
