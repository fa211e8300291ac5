package balance

import (
	"cmp"
	"math"
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/contention"
	"plimsoll/internal/cluster/migrate"
)

// How far exchanges for the load are searched: hosts that a loaded one exchanges VMs with,
// and exchanges that a round weighs before it looks at no further unit of a loaded host.
const (
	mostPartners = 32
	mostWeighed  = 10_000
)

// swaps searches exchanges for the load: a unit leaves a loaded host, and another one, of
// less weight there, takes its place. It is asked where no single move is left that is worth
// it.
type swaps struct {
	round   *round
	weighed int
	spent   []bool // by host: it has no exchange that is worth it
}

// swap is an exchange of two units of VMs between two hosts.
type swap struct {
	out, in  []cluster.VMID
	from, to cluster.HostID // of what goes out; the other unit goes the opposite way
	merit    int64
	gain     int64        // MHz that both hosts cost less
	value    advice.Value // of all migrations together
	path     []hop
}

// better orders exchanges off a host, so that a plan is the same in whatever order VMs are
// listed.
func (x *swap) better(o *swap) bool {
	return cmp.Or(cmp.Compare(o.merit, x.merit), cmp.Compare(x.out[0], o.out[0]), cmp.Compare(x.in[0], o.in[0])) < 0
}

// member is a unit that may move off a host, with what it asks for.
type member struct {
	unit []cluster.VMID
	asks cluster.Resources
}

// make plans an exchange of at most so many moves, off the host that has most to gain of
// those that have one, and says whether there is any.
func (s *swaps) make(most int) bool {
	r := s.round
	for _, from := range s.sources() {
		if s.weighed > mostWeighed {
			return false
		}
		best, found := s.best(from, most)
		if !found {
			s.spent[from] = true
			continue
		}
		begin := len(r.plan.Moves)
		s.carry(&best)
		for _, h := range touched(r.plan.Moves[begin:]) {
			s.spent[h] = false
		}
		r.changed(r.plan.Moves[begin:])
		return true
	}
	return false
}

// sources are the hosts that are relieved by exchanges, those that cost most first.
func (s *swaps) sources() (list []cluster.HostID) {
	r := s.round
	for h := range r.c.Hosts {
		id := cluster.HostID(h)
		if !s.spent[h] && (!r.byScore || r.source(h)) && r.c.Hosts[h].Usable() && s.hasTime(id) && (!r.c.Settings.CostBenefit || r.relief.potential(id) >= r.relief.least(id)) {
			list = append(list, id)
		}
	}
	weight := func(h cluster.HostID) int64 {
		if o := &r.outlooks[h]; !r.byScore {
			return o.demerit
		}
		return r.outlooks[h].cost
	}
	slices.SortStableFunc(list, func(a, b cluster.HostID) int { return cmp.Compare(weight(b), weight(a)) })
	return list
}

// hasTime says whether migrations can be added on a host before the next round.
func (s *swaps) hasTime(h cluster.HostID) bool {
	r := s.round
	return r.c.Settings.MostMoves > 0 || r.busy[h] < r.interval()*int64(migrate.Limits{}.Of(&r.c.Hosts[h]))
}

// partners are the hosts that a loaded one may exchange VMs with, those that could save most
// first.
func (s *swaps) partners(from cluster.HostID, leaving []member) (list []cluster.HostID) {
	r := s.round
	most := int64(0)
	for i := range leaving {
		most = max(most, leaving[i].asks.CPU)
	}
	could := make([]int64, len(r.c.Hosts))
	for h := range r.c.Hosts {
		to := cluster.HostID(h)
		if to == from || !r.c.Hosts[h].Usable() || !r.worthALook(from, to) || !s.hasTime(to) {
			continue
		}
		if could[h] = s.potential(from, to, most); could[h] >= s.asked(from) {
			list = append(list, to)
		}
	}
	slices.SortStableFunc(list, func(a, b cluster.HostID) int { return cmp.Compare(could[b], could[a]) })
	return list[:min(len(list), mostPartners)]
}

// uneven is the demerit of two mean hosts whose loads lie as far apart as level 5 calls even.
const uneven = 64 * 50_000 * 50_000 / 2

// evenness says whether evenness alone decides about exchanges.
func (s *swaps) evenness() bool { return !s.round.c.Settings.CostBenefit && !s.round.byScore }

// asked is what an exchange of two VMs off a host must save, in MHz, or better in demerit where
// evenness alone decides.
func (s *swaps) asked(from cluster.HostID) int64 {
	if s.evenness() {
		return uneven
	}
	return s.round.relief.least(from)
}

// potential bounds what an exchange saves that takes at most so many MHz of demand from one
// host to another, in MHz, or in demerit where evenness alone decides. Where more than cores slows VMs down anything may be saved.
func (s *swaps) potential(from, to cluster.HostID, most int64) int64 {
	r := s.round
	a, b := &r.outlooks[from], &r.outlooks[to]
	v, w := r.model.Weight[from], r.model.Weight[to]
	squares := excess(a.loads.CPU-b.loads.CPU, v.CPU, w.CPU) + excess(a.loads.Memory-b.loads.Memory, v.Memory, w.Memory)
	switch {
	case s.evenness():
		return squares
	case a.reclaims || b.reclaims || r.byScore && max(contention.Load(r.burden[from].Link, r.c.Hosts[from].NIC), contention.Load(r.burden[to].Link, r.c.Hosts[to].NIC)) > contention.LinkLimit:
		return math.MaxInt64
	}
	lost := func(demand, capacity int64) int64 {
		return contention.Part(demand, contention.Loss(contention.Load(demand, capacity), r.model.Limit))
	}
	even := contention.Part(b.capacity.CPU, contention.Load(a.demand.CPU+b.demand.CPU, a.capacity.CPU+b.capacity.CPU)) - b.demand.CPU
	goes := max(0, min(most, even))
	saved := lost(a.demand.CPU, a.capacity.CPU) + lost(b.demand.CPU, b.capacity.CPU) - lost(a.demand.CPU-goes, a.capacity.CPU) - lost(b.demand.CPU+goes, b.capacity.CPU)
	return saved + a.astray + b.astray + r.model.Unevenness(squares)
}

// excess is by how much weighted squares of two loads that lie so far apart exceed those of
// equal loads.
func excess(apart, weight, other int64) int64 {
	return contention.Square(max(apart, -apart)) / max(1, weight+other) * weight * other
}

// members are the units of a host that may move, in no order.
func (s *swaps) members(h cluster.HostID) (list []member) {
	r := s.round
	for _, v := range r.l.On(h) {
		if !r.mayMove(v) {
			continue
		}
		if unit := r.units.with(r.l, v); unit[0] == v && (len(unit) == 1 || r.mayAllMove(unit)) {
			list = append(list, member{unit, r.asks(unit)})
		}
	}
	return list
}

// best is the exchange off a host that betters the layout most of those that are worth it.
func (s *swaps) best(from cluster.HostID, most int) (best swap, found bool) {
	leaving := s.members(from)
	slices.SortFunc(leaving, func(a, b member) int {
		return cmp.Or(cmp.Compare(b.asks.CPU, a.asks.CPU), cmp.Compare(a.unit[0], b.unit[0]))
	})
	for _, to := range s.partners(from, leaving) {
		least := s.leastTransfer(from, to)
		list := slices.DeleteFunc(slices.Clone(leaving), func(out member) bool {
			alone := swap{path: []hop{{unit: out.unit, from: from, to: to}}}
			return out.asks.CPU < least || !s.round.x.Allowed(out.unit[0], to) || !s.inTime(&alone)
		})
		if len(list) == 0 {
			continue
		}
		coming := s.members(to)
		for _, out := range list {
			if s.weighed > mostWeighed {
				return best, found
			}
			for _, in := range coming {
				if less := out.asks.Minus(in.asks); less.CPU < least || !s.evens(from, to, less) {
					continue
				}
				s.weighed++
				x := swap{out: out.unit, in: in.unit, from: from, to: to}
				now := demands{out.asks, in.asks}
				if s.weigh(&x, now, now); x.merit <= 0 || found && !x.better(&best) {
					continue
				}
				if s.worth(&x) && s.possible(&x, most) {
					best, found = x, true
				}
			}
		}
	}
	return best, found
}

// leastTransfer is how many MHz of demand an exchange must take from one host to another to
// save what is asked for.
func (s *swaps) leastTransfer(from, to cluster.HostID) int64 {
	const slack = 8 // MHz by which potential may be rounded
	asked := s.asked(from) - slack
	if s.potential(from, to, 0) >= asked {
		return math.MinInt64
	}
	low, high := int64(0), s.round.outlooks[from].demand.CPU
	for high-low > 1 {
		if middle := (low + high) / 2; s.potential(from, to, middle) >= asked {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// evens says whether so much less on one host and more on another can better the layout.
func (s *swaps) evens(from, to cluster.HostID, less cluster.Resources) bool {
	a, b := s.round.outlooks[from].loads, s.round.outlooks[to].loads
	return less.CPU > 0 && a.CPU > b.CPU || less.Memory > 0 && a.Memory > b.Memory || s.round.byScore
}
