package balance

import (
	"slices"
	"strings"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/contention"
	"plimsoll/internal/cluster/migrate"
	"plimsoll/internal/cluster/place"
)

// demands are what both units of an exchange ask for.
type demands struct{ out, in cluster.Resources }

// weigh finds the merit of an exchange and what it gains where its units ask for so much now
// and for so much then; no merit where it is none.
func (s *swaps) weigh(x *swap, now, then demands) {
	r := s.round
	a, b := &r.outlooks[x.from], &r.outlooks[x.to]
	left, joined := a.demand.Minus(now.out).Plus(then.in), b.demand.Minus(now.in).Plus(then.out)
	if !r.byScore {
		here, costs := r.model.Demerit(x.from, left)
		there, cost := r.model.Demerit(x.to, joined)
		x.merit, x.gain = a.demerit+b.demerit-here-there, a.cost+b.cost-costs-cost
		return
	}
	here := r.burden[x.from].Plus(r.bears(x.out, x.from), -1).Plus(r.bears(x.in, x.from), 1)
	there := r.burden[x.to].Plus(r.bears(x.in, x.to), -1).Plus(r.bears(x.out, x.to), 1)
	if r.scores(x.out, x.to, r.model.HostLoss(x.to, joined, there)) <= r.scores(x.out, x.from, a.loss) {
		return
	}
	x.gain = a.cost + b.cost - r.model.Costs(x.from, left, here) - r.model.Costs(x.to, joined, there)
	x.merit = x.gain
}

// worth says whether an exchange saves what is asked for and pays for two migrations that end
// in time. It finds the value of both.
func (s *swaps) worth(x *swap) bool {
	x.path = []hop{{unit: x.out, from: x.from, to: x.to}, {unit: x.in, from: x.to, to: x.from}}
	return s.pays(x)
}

// pays says so of an exchange whose migrations are known.
func (s *swaps) pays(x *swap) bool {
	return s.saves(x) && s.inTime(x) && s.copied(x) && (!s.round.c.Settings.CostBenefit || x.value.Net() > 0)
}

// saves says whether an exchange saves what is asked for: each migration half of what two must.
func (s *swaps) saves(x *swap) bool {
	saved, migrations := x.gain, int64(0)
	if s.evenness() {
		saved = x.merit
	}
	for _, h := range x.path {
		migrations += int64(len(h.unit))
	}
	return saved/migrations >= s.asked(x.from)/2
}

// copied finds the value of an exchange, with all its migrations; false where one never ends.
func (s *swaps) copied(x *swap) bool {
	r := s.round
	x.value = advice.Value{Stable: horizon}
	for i := range x.path {
		h := &x.path[i]
		v := r.sure(h.unit, place.Step{VM: h.unit[0], From: h.from, To: h.to}, 0)
		if v.Copy == 0 {
			return false
		}
		x.value.Cost, x.value.Copy, x.value.Stable = x.value.Cost+v.Cost, x.value.Copy+v.Copy, min(x.value.Stable, v.Stable)
	}
	x.value.Gain = x.gain * x.value.Stable
	x.value.Risk = s.risk(x)
	return true
}

// risk is what is lost after that if the VMs then ask for the most that they ever did.
func (s *swaps) risk(x *swap) int64 {
	r := s.round
	worst := *x
	now, then := demands{r.asks(x.out), r.asks(x.in)}, demands{r.worst(x.out), r.worst(x.in)}
	if x.gain >= 0 && now == then {
		return 0
	}
	worst.merit = 0
	if s.weigh(&worst, now, then); r.byScore && worst.merit == 0 {
		return -max(0, x.gain) * (horizon - x.value.Stable)
	}
	return min(0, worst.gain) * (horizon - x.value.Stable)
}

// possible says whether nothing forbids an exchange, and finds the order of its moves: one
// after the other, or by way of a free host.
func (s *swaps) possible(x *swap, most int) bool {
	r := s.round
	if len(x.out)+len(x.in) > most || !r.x.Allowed(x.in[0], x.from) || s.returns(x.path) || !s.fit(x) {
		return false
	}
	e := &exchange{round: r, chain: s.gentler(x)}
	path, ok := e.order()
	if !ok {
		return false
	}
	moves := 0
	for _, h := range path {
		moves += len(h.unit)
	}
	x.path = path
	if moves > most || s.returns(path) || len(path) > 2 && !s.pays(x) {
		return false
	}
	return r.place.Strains(s.steps(x)...) == ""
}

// returns says whether a VM would go back to a host that it left not long ago.
func (s *swaps) returns(path []hop) bool {
	left := s.round.options.Left
	return left != nil && slices.ContainsFunc(path, func(h hop) bool {
		return slices.ContainsFunc(h.unit, func(v cluster.VMID) bool { return left(v, h.to) })
	})
}

// fit says whether both units may run where they go once the other has left, and no more
// should-rules are then violated. The layout is afterwards as before, but for the order of
// VMs on their hosts.
func (s *swaps) fit(x *swap) bool {
	r := s.round
	now := broken(r.l, x.out) + broken(r.l, x.in)
	e := exchange{round: r}
	e.put(x.out, cluster.Nowhere)
	e.put(x.in, cluster.Nowhere)
	fine := r.enters(x.out, x.to) && r.enters(x.in, x.from) && broken(r.l, x.out)+broken(r.l, x.in) <= now
	e.put(x.out, x.from)
	e.put(x.in, x.to)
	return fine
}

// enters has a unit that runs nowhere run on a host as far as that may be, and says whether
// all of it may.
func (r *round) enters(unit []cluster.VMID, h cluster.HostID) bool {
	for _, v := range unit {
		if r.l.Obstacle(v, h).Check != cluster.Fine {
			return false
		}
		r.l.Move(v, h)
	}
	return true
}

// gentler are the two hops in the order in which the fuller host of the moment between them
// is less full.
func (s *swaps) gentler(x *swap) []hop {
	r := s.round
	out, in := x.path[0], x.path[1]
	full := func(h cluster.HostID, more cluster.Resources) int64 {
		d, all := r.l.Demand(h).Plus(more), r.x.Capacity(h)
		return max(contention.Load(d.CPU, all.CPU), contention.Load(d.Memory, all.Memory))
	}
	if full(x.from, r.asks(x.in)) < full(x.to, r.asks(x.out)) {
		return []hop{in, out}
	}
	return []hop{out, in}
}

// inTime says whether all migrations of an exchange end before the next round, beside those
// that are planned.
func (s *swaps) inTime(x *swap) bool {
	r := s.round
	if r.c.Settings.MostMoves > 0 {
		return true
	}
	for _, h := range x.path {
		for _, at := range [...]cluster.HostID{h.from, h.to} {
			if many := int64(migrate.Limits{}.Of(&r.c.Hosts[at])); s.takes(x, at, many) > r.interval()*many-r.busy[at] {
				return false
			}
		}
	}
	return true
}

// takes is the time of all migrations of an exchange that a host has part in, of which it may
// have so many at the same time.
func (s *swaps) takes(x *swap, at cluster.HostID, many int64) (seconds int64) {
	for _, h := range x.path {
		if h.from != at && h.to != at {
			continue
		}
		for _, v := range h.unit {
			seconds += migrate.Shared(s.round.c, place.Step{VM: v, From: h.from, To: h.to}, many)
		}
	}
	return seconds
}

// steps are where the VMs of an exchange go in the end.
func (s *swaps) steps(x *swap) (list []place.Step) {
	for _, v := range x.out {
		list = append(list, place.Step{VM: v, From: x.from, To: x.to})
	}
	for _, v := range x.in {
		list = append(list, place.Step{VM: v, From: x.to, To: x.from})
	}
	return list
}

// carry takes an exchange into the plan.
func (s *swaps) carry(x *swap) {
	r := s.round
	why := advice.FairCPU
	if p := loads(r.l, r.x, x.from); p.Memory > p.CPU {
		why = advice.FairMemory
	}
	for _, h := range x.path {
		partner := x.in[0]
		if h.unit[0] == x.in[0] {
			partner = x.out[0]
		}
		notes := []string{"it changes places with " + r.c.VMs[partner].Name, h.note, r.units.note(r.c, h.unit)}
		note := strings.Join(slices.DeleteFunc(notes, func(n string) bool { return n == "" }), "; ")
		r.steps++
		for _, v := range h.unit {
			step := place.Step{VM: v, From: h.from, To: h.to}
			r.enter(step, why, cluster.Nowhere, x.value)
			m := &r.plan.Moves[len(r.plan.Moves)-1]
			m.Note, m.Relieves, m.Partner = note, x.from, partner
			r.spend(step, 1)
		}
	}
	r.mean = r.means()
}
