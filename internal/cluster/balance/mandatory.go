package balance

import (
	"cmp"
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/place"
)

// mandatory makes the moves that must be.
func (r *round) mandatory() {
	for h := range r.c.Hosts {
		switch r.c.Hosts[h].State {
		case cluster.Failed:
			r.leave(cluster.HostID(h), advice.HostFailed)
		case cluster.Maintenance, cluster.Standby:
			r.leave(cluster.HostID(h), advice.HostMaintenance)
		}
	}
	for i := range r.c.Rules {
		if rule := &r.c.Rules[i]; rule.Must && !rule.Disabled {
			r.mend(cluster.RuleID(i), advice.MustRule)
		}
	}
	for h := range r.c.Hosts {
		r.relieve(cluster.HostID(h))
	}
}

// leave empties a host: its VMs are placed like new ones, the hardest first, and
// not put wherever there is room now. Where that leaves VMs of a failed host without
// one, they are packed as admission counted on.
func (r *round) leave(h cluster.HostID, why advice.Reason) {
	moves, stranded, steps := len(r.plan.Moves), len(r.plan.Stranded), r.steps
	r.rehomeAll(h, why)
	short := len(r.plan.Stranded) - stranded
	if short == 0 || why != advice.HostFailed {
		return
	}
	for _, m := range slices.Backward(r.plan.Moves[moves:]) {
		r.l.Move(m.VM, m.From)
	}
	r.plan.Moves, r.plan.Stranded, r.steps = r.plan.Moves[:moves], r.plan.Stranded[:stranded], steps
	r.burden = burdens(r.l, r.x)
	packed, _ := r.place.Restart(h)
	alone := !slices.ContainsFunc(r.l.On(h), func(v cluster.VMID) bool { return len(r.units.bound(r.l, v)) > 1 })
	if !alone || len(r.l.On(h))-len(packed) >= short {
		r.rehomeAll(h, why)
		return
	}
	for _, s := range packed {
		r.move(s, why, cluster.Nowhere, advice.Value{})
	}
	for _, v := range slices.Sorted(slices.Values(r.l.On(h))) {
		r.strand(v, why)
	}
}

func (r *round) rehomeAll(h cluster.HostID, why advice.Reason) {
	vms := slices.Clone(r.l.On(h))
	slices.SortFunc(vms, r.harder)
	for _, v := range vms {
		if r.l.Host(v) == h {
			r.rehome(v, why, cluster.Nowhere)
		}
	}
}

// harder orders VMs by how hard they are to place, the hardest first.
func (r *round) harder(a, b cluster.VMID) int {
	x, y := r.x.Reserved(a), r.x.Reserved(b)
	return cmp.Or(
		cmp.Compare(len(r.x.Rules(b)), len(r.x.Rules(a))), cmp.Compare(y.Memory, x.Memory), cmp.Compare(y.CPU, x.CPU),
		cmp.Compare(r.c.VMs[b].Memory, r.c.VMs[a].Memory), cmp.Compare(a, b))
}

// rehome moves a VM to the best host that is not its own, with those before it
// that make room. A VM that must stay together with others takes them along.
func (r *round) rehome(v cluster.VMID, why advice.Reason, rule cluster.RuleID) bool {
	unit := r.units.bound(r.l, v)
	if len(unit) > 1 {
		return r.together(unit, why, rule)
	}
	from := r.l.Host(v)
	choice := r.choose(v, from)
	if choice.Host == cluster.Nowhere || choice.Host == from || !r.passable(choice.First) {
		return r.exchangeOrStrand(unit, why, rule)
	}
	for _, s := range choice.First {
		r.move(s, advice.MakeRoom, cluster.Nowhere, advice.Value{})
	}
	r.move(place.Step{VM: v, From: from, To: choice.Host}, why, rule, advice.Value{})
	return true
}

// passable says whether moves that make room can be made one after the other. Room was
// looked for as if the VM that needs it ran nowhere: what takes its place must fit while it
// is still there.
func (r *round) passable(steps []place.Step) bool {
	n := 0
	for ; n < len(steps) && r.l.Obstacle(steps[n].VM, steps[n].To).Check == cluster.Fine; n++ {
		r.l.Move(steps[n].VM, steps[n].To)
	}
	for _, s := range slices.Backward(steps[:n]) {
		r.l.Move(s.VM, s.From)
	}
	return n == len(steps)
}

// exchangeOrStrand has a VM change places with others, or notes that it cannot.
func (r *round) exchangeOrStrand(unit []cluster.VMID, why advice.Reason, rule cluster.RuleID) bool {
	if r.exchange(unit, why, rule) {
		return true
	}
	r.strand(unit[0], why)
	return false
}

// choose is where a VM would be placed if it ran nowhere.
func (r *round) choose(v cluster.VMID, from cluster.HostID) place.Choice {
	r.l.Move(v, cluster.Nowhere)
	defer r.l.Move(v, from)
	return r.place.Place(v)
}

// strand notes a VM that finds no host, once.
func (r *round) strand(v cluster.VMID, why advice.Reason) {
	if !slices.ContainsFunc(r.plan.Stranded, func(s advice.Stranded) bool { return s.VM == v }) {
		r.plan.Stranded = append(r.plan.Stranded, advice.Stranded{VM: v, Reason: why})
	}
}

// together moves VMs that stay together to the first host that can have all that
// are not there yet.
func (r *round) together(unit []cluster.VMID, why advice.Reason, rule cluster.RuleID) bool {
	from := make([]cluster.HostID, len(unit))
	for i, v := range unit {
		from[i] = r.l.Host(v)
		r.l.Move(v, cluster.Nowhere)
	}
	to := cluster.HostID(cluster.Nowhere)
	for _, verdict := range r.place.Explain(unit[0]) {
		if verdict.Obstacle.Check != cluster.Fine {
			break
		}
		if r.fit(unit, verdict.Host) {
			to = verdict.Host
			break
		}
	}
	for i, v := range unit {
		r.l.Move(v, from[i])
	}
	if to == cluster.Nowhere && r.exchange(unit, why, rule) {
		return true
	}
	if to == cluster.Nowhere {
		for i, v := range unit {
			if why == advice.HostFailed || why == advice.HostMaintenance || from[i] != from[0] {
				r.strand(v, why)
			}
		}
		return false
	}
	r.steps++
	for i, v := range unit {
		if from[i] != to {
			r.enter(place.Step{VM: v, From: from[i], To: to}, why, rule, advice.Value{})
		}
	}
	return true
}

// fit says whether a host can have several VMs that run nowhere. The layout is
// afterwards as before.
func (r *round) fit(unit []cluster.VMID, h cluster.HostID) bool {
	n := 0
	for ; n < len(unit) && r.l.Obstacle(unit[n], h).Check == cluster.Fine; n++ {
		r.l.Move(unit[n], h)
	}
	for _, v := range unit[:n] {
		r.l.Move(v, cluster.Nowhere)
	}
	return n == len(unit)
}

// mend moves VMs until a rule holds: of those that may not share a host, all but
// the one that is hardest to move; of those that must be elsewhere, each.
func (r *round) mend(id cluster.RuleID, why advice.Reason) {
	rule := &r.c.Rules[id]
	for range rule.VMs { // each turn moves one at least
		v, broken := r.culprit(rule, func(v cluster.VMID) bool { return !r.c.VMs[v].Pinned })
		if !broken || !r.rehome(v, why, id) {
			return
		}
	}
}

// culprit is the VM whose move mends most of a rule, the cheapest of several that may
// move.
func (r *round) culprit(rule *cluster.Rule, may func(cluster.VMID) bool) (cluster.VMID, bool) {
	best, found := cluster.VMID(0), false
	shared := map[cluster.HostID]int{}
	for _, v := range rule.VMs {
		shared[r.l.Host(v)]++
	}
	for _, v := range rule.VMs {
		h := r.l.Host(v)
		if h == cluster.Nowhere {
			continue
		}
		_, named := slices.BinarySearch(rule.Hosts, h)
		breaks := rule.Kind == cluster.Apart && shared[h] > 1 ||
			rule.Kind == cluster.Together && shared[h] < len(rule.VMs)-shared[cluster.Nowhere] ||
			rule.Kind == cluster.OnHosts && !named || rule.Kind == cluster.OffHosts && named
		if breaks && (!found || r.harder(best, v) < 0) && may(v) {
			best, found = v, true
		}
	}
	return best, found
}

// relieve moves VMs off a host on which more is reserved than there is.
func (r *round) relieve(h cluster.HostID) {
	for !r.l.Reserved(h).Fits(r.x.Capacity(h)) {
		vms := slices.Clone(r.l.On(h))
		slices.SortFunc(vms, func(a, b cluster.VMID) int { return r.harder(b, a) })
		moved := false
		for _, v := range vms {
			if r.x.Reserved(v) != (cluster.Resources{}) && !r.c.VMs[v].Pinned && r.rehome(v, advice.Reservation, cluster.Nowhere) {
				moved = true
				break
			}
		}
		if !moved {
			return
		}
	}
}
