// Package repair plans the moves that rules and hosts require: it empties hosts in
// maintenance, restarts VMs of failed hosts, and repairs rules and reservations.
package repair

import (
	"cmp"
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/balance/chain"
	"plimsoll/internal/cluster/balance/draft"
	"plimsoll/internal/cluster/balance/unit"
	"plimsoll/internal/cluster/place"
)

// repair plans mandatory moves.
type repair struct {
	d      *draft.Draft
	chains *chain.Chains
}

// Mandatory plans the mandatory moves.
func Mandatory(d *draft.Draft) {
	r := &repair{d, chain.New(d)}
	for h := range d.Cluster.Hosts {
		switch d.Cluster.Hosts[h].State {
		case cluster.Failed:
			r.restart(cluster.HostID(h))
		case cluster.Maintenance, cluster.Standby:
			r.empty(cluster.HostID(h), advice.For(advice.HostMaintenance))
		}
	}
	for i := range d.Cluster.Rules {
		if rule := &d.Cluster.Rules[i]; rule.Must && !rule.Disabled {
			r.mend(cluster.RuleID(i))
		}
	}
	for h := range d.Cluster.Hosts {
		r.fit(cluster.HostID(h))
	}
}

// restart places the VMs of a failed host like new ones. If some find no host, it packs all of
// them as admission control assumes.
func (r *repair) restart(h cluster.HostID) {
	d, like := r.d, advice.For(advice.HostFailed)
	moves, stranded := len(d.Plan.Moves), len(d.Plan.Stranded)
	r.empty(h, like)
	short := len(d.Plan.Stranded) - stranded
	if short == 0 {
		return
	}
	d.Undo(moves)
	d.Plan.Stranded = d.Plan.Stranded[:stranded]
	packed, _ := d.Placer.Restart(h)
	alone := !slices.ContainsFunc(d.Layout.On(h), func(v cluster.VMID) bool { return len(d.Units.Bound(d.Layout, v)) > 1 })
	if !alone || len(d.Layout.On(h))-len(packed) >= short {
		r.empty(h, like)
		return
	}
	for _, s := range packed {
		d.Move(d.Units.Alone(s.VM), s.To, like)
	}
	for _, v := range slices.Sorted(slices.Values(d.Layout.On(h))) {
		r.strand(v, like.Reason)
	}
}

// empty moves all VMs off a host, the hardest to place first.
func (r *repair) empty(h cluster.HostID, like advice.Move) {
	vms := slices.Clone(r.d.Layout.On(h))
	slices.SortFunc(vms, harder(r.d))
	for _, v := range vms {
		if r.d.Layout.Host(v) == h {
			r.rehome(v, like)
		}
	}
}

// harder orders VMs by difficulty of placement, hardest first.
func harder(d *draft.Draft) func(a, b cluster.VMID) int {
	return func(a, b cluster.VMID) int {
		x, y := d.Index.Reserved(a), d.Index.Reserved(b)
		return cmp.Or(
			cmp.Compare(len(d.Index.Rules(b)), len(d.Index.Rules(a))), cmp.Compare(y.Memory, x.Memory), cmp.Compare(y.CPU, x.CPU),
			cmp.Compare(d.Cluster.VMs[b].Memory, d.Cluster.VMs[a].Memory), cmp.Compare(a, b))
	}
}

// rehome moves a VM to the best other host, after the moves that make room for it. VMs that
// must stay with it move along. A VM without a host is stranded.
func (r *repair) rehome(v cluster.VMID, like advice.Move) bool {
	d := r.d
	vms := d.Units.Bound(d.Layout, v)
	if like.Reason != advice.HostFailed && slices.ContainsFunc(vms, func(w cluster.VMID) bool { return d.Cluster.VMs[w].Tied }) {
		for _, w := range vms {
			if d.Layout.Host(w) == d.Layout.Host(v) {
				r.strand(w, like.Reason)
			}
		}
		return false
	}
	if len(vms) > 1 {
		return r.together(vms, like)
	}
	from := d.Layout.Host(v)
	d.Layout.Move(v, cluster.Nowhere)
	choice := d.Placer.Place(v)
	d.Layout.Move(v, from)
	switch {
	case choice.Host != cluster.Nowhere && choice.Host != from && r.passable(choice.First):
		for _, s := range choice.First {
			d.Move(d.Units.Alone(s.VM), s.To, advice.For(advice.MakeRoom))
		}
		d.Move(vms, choice.Host, like)
	case !r.exchange(vms, like):
		r.strand(v, like.Reason)
		return false
	}
	return true
}

// strand records a VM without a host, once.
func (r *repair) strand(v cluster.VMID, why advice.Reason) {
	p := &r.d.Plan
	if !slices.ContainsFunc(p.Stranded, func(s advice.Stranded) bool { return s.VM == v }) {
		p.Stranded = append(p.Stranded, advice.Stranded{VM: v, Reason: why})
	}
}

// passable reports whether moves that make room can be made in sequence. Room was computed as
// if the VM ran nowhere; the VMs that it displaces must fit while it is still there.
func (r *repair) passable(steps []place.Step) bool {
	l, n := r.d.Layout, 0
	for ; n < len(steps) && l.Obstacle(steps[n].VM, steps[n].To).Check == cluster.Fine; n++ {
		l.Move(steps[n].VM, steps[n].To)
	}
	for _, s := range slices.Backward(steps[:n]) {
		l.Move(s.VM, s.From)
	}
	return n == len(steps)
}

// together moves VMs that stay together to the best host with room for all of them.
func (r *repair) together(vms []cluster.VMID, like advice.Move) bool {
	d := r.d
	if to := r.common(vms); to != cluster.Nowhere {
		d.Move(vms, to, like)
		return true
	}
	if r.exchange(vms, like) {
		return true
	}
	for _, v := range vms {
		if like.Reason == advice.HostFailed || like.Reason == advice.HostMaintenance || d.Layout.Host(v) != d.Layout.Host(vms[0]) {
			r.strand(v, like.Reason)
		}
	}
	return false
}

// common is the best host with room for all VMs of a unit, or Nowhere.
func (r *repair) common(vms []cluster.VMID) cluster.HostID {
	l := r.d.Layout
	from := make([]cluster.HostID, len(vms))
	for i, v := range vms {
		from[i] = l.Host(v)
		l.Move(v, cluster.Nowhere)
	}
	defer func() {
		for i, v := range vms {
			l.Move(v, from[i])
		}
	}()
	for _, verdict := range r.d.Placer.Explain(vms[0]) {
		if verdict.Obstacle.Check != cluster.Fine {
			break
		}
		if unit.Fits(l, vms, verdict.Host) {
			return verdict.Host
		}
	}
	return cluster.Nowhere
}

// exchange swaps a unit with others, and reports whether that is possible.
func (r *repair) exchange(vms []cluster.VMID, like advice.Move) bool {
	d := r.d
	if !d.Cluster.Hosts[d.Layout.Host(vms[0])].Runs() || like.Reason == advice.Reservation || !unit.OneHost(d.Layout, vms) {
		return false
	}
	path := r.chains.Find(vms)
	for _, h := range path {
		m := advice.For(advice.MakeRoom)
		if slices.Contains(vms, h.Unit[0]) {
			m = like
		}
		m.Note = h.Note
		d.Move(h.Unit, h.To, m)
	}
	return path != nil
}

// mend moves VMs until a must-rule holds: of VMs that run apart, all but the hardest to move;
// of VMs bound to hosts, each on a wrong one.
func (r *repair) mend(id cluster.RuleID) {
	like := advice.For(advice.MustRule)
	like.Rule = id
	for range r.d.Cluster.Rules[id].VMs { // each pass moves at least one
		v, broken := culprit(r.d, id, func(v cluster.VMID) bool { return !r.d.Cluster.VMs[v].Pinned })
		if !broken || !r.rehome(v, like) {
			return
		}
	}
}

// culprit is the VM whose move repairs most of a rule, and the cheapest of those.
func culprit(d *draft.Draft, id cluster.RuleID, may func(cluster.VMID) bool) (best cluster.VMID, found bool) {
	rule, shared := &d.Cluster.Rules[id], map[cluster.HostID]int{}
	for _, v := range rule.VMs {
		shared[d.Layout.Host(v)]++
	}
	for _, v := range rule.VMs {
		h := d.Layout.Host(v)
		if h == cluster.Nowhere {
			continue
		}
		_, named := slices.BinarySearch(rule.Hosts, h)
		breaks := rule.Kind == cluster.Apart && shared[h] > 1 ||
			rule.Kind == cluster.Together && shared[h] < len(rule.VMs)-shared[cluster.Nowhere] ||
			rule.Kind == cluster.OnHosts && !named || rule.Kind == cluster.OffHosts && named
		if breaks && (!found || harder(d)(best, v) < 0) && may(v) {
			best, found = v, true
		}
	}
	return best, found
}

// fit moves VMs off a host whose reservations exceed its capacity.
func (r *repair) fit(h cluster.HostID) {
	d := r.d
	harder, like := harder(d), advice.For(advice.Reservation)
	for !d.Layout.Reserved(h).Fits(d.Hosts[h].Capacity) {
		vms := slices.Clone(d.Layout.On(h))
		slices.SortFunc(vms, func(a, b cluster.VMID) int { return harder(b, a) })
		if !slices.ContainsFunc(vms, func(v cluster.VMID) bool {
			return d.Index.Reserved(v) != (cluster.Resources{}) && !d.Cluster.VMs[v].Pinned && r.rehome(v, like)
		}) {
			return
		}
	}
}
