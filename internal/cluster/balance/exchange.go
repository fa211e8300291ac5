package balance

import (
	"cmp"
	"fmt"
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/place"
)

// How far a chain of VMs that take each other's places is looked for: units in a
// chain, units of a host that may have to leave it, and layouts in a round.
const (
	longestChain = 5
	mostEjected  = 8
	mostLooked   = 4000
)

// exchange finds places for a unit that fits nowhere, by having others leave theirs, and an
// order for the moves, by way of a free host where no direct one exists. It is for what must
// be.
type exchange struct {
	*round
	looked int
	chain  []hop // in the order in which places were found
}

// hop is a unit that goes from one host to another.
type hop struct {
	unit     []cluster.VMID
	from, to cluster.HostID
	note     string
}

// exchange plans the moves by which a unit gets a place, and says whether there are any.
func (r *round) exchange(unit []cluster.VMID, why advice.Reason, rule cluster.RuleID) bool {
	from := r.l.Host(unit[0])
	if from == cluster.Nowhere || !r.c.Hosts[from].Runs() || why == advice.Reservation || !onOneHost(r.l, unit) {
		return false
	}
	e := &exchange{round: r, looked: r.looked}
	defer func() { r.looked = e.looked }()
	e.put(unit, cluster.Nowhere)
	found := e.find(unit, from, longestChain)
	for _, h := range slices.Backward(e.chain) {
		e.put(h.unit, h.from)
	}
	e.put(unit, from)
	if !found {
		return false
	}
	path, ok := e.order()
	if !ok {
		return false
	}
	for _, h := range path {
		reason, of := advice.MakeRoom, cluster.RuleID(cluster.Nowhere)
		if slices.Contains(unit, h.unit[0]) {
			reason, of = why, rule
		}
		r.steps++
		for _, v := range h.unit {
			r.enter(place.Step{VM: v, From: h.from, To: h.to}, reason, of, advice.Value{})
			r.plan.Moves[len(r.plan.Moves)-1].Note = h.note
		}
	}
	return true
}

// put has a unit run on a host, or nowhere.
func (e *exchange) put(unit []cluster.VMID, h cluster.HostID) {
	for _, v := range unit {
		e.l.Move(v, h)
	}
}

// find places a unit that runs nowhere, and all that leave for it. The layout is then with
// all of them on their new hosts, or as before where there is no way.
func (e *exchange) find(unit []cluster.VMID, from cluster.HostID, depth int) bool {
	for h := range e.c.Hosts {
		to := cluster.HostID(h)
		if to != from && moved(e.l, unit, to, nil).Check == cluster.Fine {
			e.put(unit, to)
			e.chain = append(e.chain, hop{unit: unit, from: from, to: to})
			return true
		}
	}
	if depth == 1 {
		return false
	}
	for h := range e.c.Hosts {
		to := cluster.HostID(h)
		if to == from {
			continue
		}
		for _, other := range e.inTheWay(unit, to) {
			if e.looked++; e.looked > mostLooked {
				return false
			}
			e.put(other, cluster.Nowhere)
			if moved(e.l, unit, to, nil).Check == cluster.Fine {
				e.put(unit, to)
				e.chain = append(e.chain, hop{unit: unit, from: from, to: to})
				if e.find(other, to, depth-1) {
					return true
				}
				e.chain = e.chain[:len(e.chain)-1]
				e.put(unit, cluster.Nowhere)
			}
			e.put(other, to)
		}
	}
	return false
}

// inTheWay are the units that could leave a host for another to fit: first those that must
// not run there, then the smallest.
func (e *exchange) inTheWay(unit []cluster.VMID, h cluster.HostID) (list [][]cluster.VMID) {
	o := moved(e.l, unit, h, nil)
	switch o.Check {
	case cluster.CPUCheck, cluster.MemoryCheck, cluster.CountCheck, cluster.ApartCheck:
	default:
		return nil
	}
	type other struct {
		unit   []cluster.VMID
		wrong  int // 0 where it must not run there
		memory int64
	}
	var others []other
	for _, v := range slices.Sorted(slices.Values(e.l.On(h))) {
		u := e.units.bound(e.l, v)
		if u[0] != v || o.Check == cluster.ApartCheck && !slices.Contains(u, o.Other) || !e.mayLeave(u) {
			continue
		}
		x := other{unit: u, wrong: 1}
		for _, w := range u {
			if e.l.Obstacle(w, h).Check != cluster.Fine {
				x.wrong = 0
			}
			x.memory += e.c.VMs[w].Memory
		}
		others = append(others, x)
	}
	slices.SortStableFunc(others, func(a, b other) int {
		return cmp.Or(cmp.Compare(a.wrong, b.wrong), cmp.Compare(a.memory, b.memory))
	})
	for _, x := range others[:min(len(others), mostEjected)] {
		list = append(list, x.unit)
	}
	return list
}

// mayLeave says whether a unit may take part: it is not in the chain, and not pinned.
func (e *exchange) mayLeave(unit []cluster.VMID) bool {
	if !onOneHost(e.l, unit) || slices.ContainsFunc(e.chain, func(h hop) bool { return h.unit[0] == unit[0] }) {
		return false
	}
	return !slices.ContainsFunc(unit, func(v cluster.VMID) bool { return e.c.VMs[v].Pinned || e.moved[v] })
}

// order finds an order of the chain's moves in which each keeps what must hold. Where none
// can begin, a unit waits on a free host until its place is. The layout is afterwards as
// before.
func (e *exchange) order() (path []hop, ok bool) {
	defer func() {
		for _, h := range slices.Backward(path) {
			e.put(h.unit, h.from)
		}
	}()
	left, waited := slices.Clone(e.chain), map[cluster.VMID]bool{}
	for len(left) > 0 {
		i := slices.IndexFunc(left, func(h hop) bool { return moved(e.l, h.unit, h.to, nil).Check == cluster.Fine })
		if i >= 0 {
			path = append(path, left[i])
			e.put(left[i].unit, left[i].to)
			left = slices.Delete(left, i, i+1)
			continue
		}
		at, host := e.wait(left, waited)
		if at < 0 {
			return path, false
		}
		h := &left[at]
		path = append(path, hop{h.unit, h.from, host, e.waits(h, host)})
		e.put(h.unit, host)
		waited[h.unit[0]], h.from = true, host
		h.note = fmt.Sprintf("it comes from %s, where it waited for its place", e.c.Hosts[host].Name)
	}
	return path, true
}

// wait finds a unit and a host where it can be until its place is free, after which another
// can go: -1 where there is none.
func (e *exchange) wait(left []hop, waited map[cluster.VMID]bool) (at int, host cluster.HostID) {
	for i, h := range left {
		if waited[h.unit[0]] {
			continue
		}
		for p := range e.c.Hosts {
			via := cluster.HostID(p)
			if via == h.from || via == h.to || !e.passes(h, via) {
				continue
			}
			e.put(h.unit, via)
			free := slices.ContainsFunc(left, func(o hop) bool {
				return o.unit[0] != h.unit[0] && moved(e.l, o.unit, o.to, nil).Check == cluster.Fine
			})
			e.put(h.unit, h.from)
			if free {
				return i, via
			}
		}
	}
	return -1, cluster.Nowhere
}

// passes says whether a unit can be on a host for a moment: nothing may then be broken but
// rules about hosts that it breaks now. The layout is afterwards as before.
func (e *exchange) passes(h hop, via cluster.HostID) bool {
	n := 0
	e.put(h.unit, cluster.Nowhere)
	for ; n < len(h.unit) && e.l.Passing(h.unit[n], h.from, via).Check == cluster.Fine; n++ {
		e.l.Move(h.unit[n], via)
	}
	e.put(h.unit, h.from)
	return n == len(h.unit)
}

// waits says why a unit goes to a host that is not its place.
func (e *exchange) waits(h *hop, via cluster.HostID) string {
	text := fmt.Sprintf("it waits there until %s can have it: %s", e.c.Hosts[h.to].Name, moved(e.l, h.unit, h.to, nil).Text(e.c, h.to))
	for _, v := range h.unit {
		if o := e.l.Obstacle(v, via); o.Check == cluster.HostRuleCheck {
			return text + fmt.Sprintf("; the rule %s remains broken meanwhile", e.c.Rules[o.Rule].Name)
		}
	}
	return text
}
