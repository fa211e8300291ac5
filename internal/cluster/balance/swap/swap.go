// Package swap searches exchanges for load balance: a unit leaves a loaded host, and one with
// less demand replaces it. It runs when no single move is worth it.
package swap

import (
	"cmp"
	"math"
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/balance/draft"
	"plimsoll/internal/cluster/balance/relief"
)

// Limits of the search: hosts that a loaded one exchanges VMs with, and exchanges that a round
// weighs before it skips further units of a loaded host.
const (
	mostPartners = 32
	mostWeighed  = 10_000
)

// Search finds exchanges for one round.
type Search struct {
	d       *draft.Draft
	relief  *relief.Relief
	weighed int
	spent   []bool // by host: no exchange is worth it
}

// New searches in the layout of a draft.
func New(d *draft.Draft, f *relief.Relief) *Search {
	return &Search{d: d, relief: f, spent: make([]bool, len(d.Hosts))}
}

// swap is an exchange of two units of VMs between two hosts.
type swap struct {
	out, in  []cluster.VMID
	from, to cluster.HostID // outgoing; the other unit goes the opposite way
	merit    int64
	gain     int64        // decrease of both hosts' costs, in MHz
	value    advice.Value // of all migrations together
	path     []draft.UnitMove
}

// better orders exchanges off a host, so that a plan does not depend on the order of VMs in
// the snapshot.
func (x *swap) better(o *swap) bool {
	return cmp.Or(cmp.Compare(o.merit, x.merit), cmp.Compare(x.out[0], o.out[0]), cmp.Compare(x.in[0], o.in[0])) < 0
}

// size is the number of migrations.
func (x *swap) size() (n int) {
	for _, h := range x.path {
		n += len(h.Unit)
	}
	return n
}

// Make plans one exchange of at most the given number of moves off the host with the largest
// possible saving, and reports whether it found one.
func (s *Search) Make(most int) bool {
	for _, from := range s.sources() {
		if s.weighed > mostWeighed {
			return false
		}
		best, found := s.best(from, most)
		if !found {
			s.spent[from] = true
			continue
		}
		begin := len(s.d.Plan.Moves)
		s.carry(&best)
		for _, h := range advice.Touched(s.d.Plan.Moves[begin:]) {
			s.spent[h] = false
		}
		return true
	}
	return false
}

// sources lists the hosts that exchanges relieve, highest cost first.
func (s *Search) sources() (list []cluster.HostID) {
	d := s.d
	for h := range cluster.HostID(len(d.Hosts)) {
		if !s.spent[h] && (!d.Model.ByScore || d.Loaded(h)) && d.Cluster.Hosts[h].Usable() && d.Clock.HasTime(h) && s.relief.Enough(h, s.relief.Potential(h)) {
			list = append(list, h)
		}
	}
	weight := func(h cluster.HostID) int64 {
		if d.Model.ByScore {
			return d.Hosts[h].Cost
		}
		return d.Hosts[h].Demerit
	}
	slices.SortStableFunc(list, func(a, b cluster.HostID) int { return cmp.Compare(weight(b), weight(a)) })
	return list
}

// partners lists the hosts that a loaded one may exchange VMs with, largest possible saving
// first.
func (s *Search) partners(from cluster.HostID, leaving []member) (list []cluster.HostID) {
	most := int64(0)
	for i := range leaving {
		most = max(most, leaving[i].asks.CPU)
	}
	could := make([]int64, len(s.d.Hosts))
	for to := range cluster.HostID(len(could)) {
		if !s.d.MayGain(from, to) || !s.d.Clock.HasTime(to) {
			continue
		}
		if could[to] = s.potential(from, to, most); could[to] >= s.asked(from) {
			list = append(list, to)
		}
	}
	slices.SortStableFunc(list, func(a, b cluster.HostID) int { return cmp.Compare(could[b], could[a]) })
	return list[:min(len(list), mostPartners)]
}

// member is a unit that may move off a host, with its demand.
type member struct {
	unit []cluster.VMID
	asks cluster.Resources
}

// members lists the units of a host that may move, in no order.
func (s *Search) members(h cluster.HostID) (list []member) {
	d := s.d
	for _, v := range d.Layout.On(h) {
		if !d.MayMove(v) {
			continue
		}
		if vms := d.Units.With(d.Layout, v); vms[0] == v && (len(vms) == 1 || d.MayAllMove(vms)) {
			list = append(list, member{vms, d.Demand(vms)})
		}
	}
	return list
}

// best is the exchange off a host that improves the layout most among those that are worth it.
func (s *Search) best(from cluster.HostID, most int) (best swap, found bool) {
	leaving := s.members(from)
	slices.SortFunc(leaving, func(a, b member) int {
		return cmp.Or(cmp.Compare(b.asks.CPU, a.asks.CPU), cmp.Compare(a.unit[0], b.unit[0]))
	})
	for _, to := range s.partners(from, leaving) {
		least := s.leastTransfer(from, to)
		list := slices.DeleteFunc(slices.Clone(leaving), func(out member) bool {
			return out.asks.CPU < least || !s.d.Index.Allowed(out.unit[0], to) || !s.d.Clock.AllInTime([]draft.UnitMove{{Unit: out.unit, From: from, To: to}})
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

// leastTransfer is the minimum demand that an exchange must transfer between two hosts to save
// enough, in MHz.
func (s *Search) leastTransfer(from, to cluster.HostID) int64 {
	const slack = 8 // MHz by which potential may be rounded
	asked := s.asked(from) - slack
	if s.potential(from, to, 0) >= asked {
		return math.MinInt64
	}
	low, high := int64(0), s.d.Hosts[from].Demand.CPU
	for high-low > 1 {
		if middle := (low + high) / 2; s.potential(from, to, middle) >= asked {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// evens reports whether moving so much load from one host to another can improve the layout.
func (s *Search) evens(from, to cluster.HostID, less cluster.Resources) bool {
	a, b := s.d.Hosts[from].Loads, s.d.Hosts[to].Loads
	return less.CPU > 0 && a.CPU > b.CPU || less.Memory > 0 && a.Memory > b.Memory || s.d.Model.ByScore
}
