package swap

import (
	"math"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/balance/worth"
	"plimsoll/internal/cluster/contention"
	"plimsoll/internal/cluster/place"
)

// uneven is the demerit of two hosts whose loads differ by as much as level 5 tolerates.
const uneven = 64 * 50_000 * 50_000 / 2

// byEvenness reports whether evenness alone decides about exchanges.
func (s *Search) byEvenness() bool {
	return !s.d.Cluster.Settings.CostBenefit && !s.d.Model.ByScore
}

// asked is the required saving of an exchange of two VMs off a host, in MHz, or the
// required improvement of demerit where evenness alone decides.
func (s *Search) asked(from cluster.HostID) int64 {
	if s.byEvenness() {
		return uneven
	}
	return s.relief.Least(from)
}

// potential bounds the savings of an exchange that transfers at most so many MHz of demand
// between two hosts, in MHz, or in demerit where evenness alone decides. There is no bound
// where VMs are delayed by more than a lack of cores.
func (s *Search) potential(from, to cluster.HostID, most int64) int64 {
	d := s.d
	a, b := &d.Hosts[from], &d.Hosts[to]
	v, w := d.Model.Weight[from], d.Model.Weight[to]
	squares := excess(a.Loads.CPU-b.Loads.CPU, v.CPU, w.CPU) + excess(a.Loads.Memory-b.Loads.Memory, v.Memory, w.Memory)
	switch {
	case s.byEvenness():
		return squares
	case a.Reclaims || b.Reclaims || d.Model.ByScore && (a.LinkIsFull() || b.LinkIsFull()):
		return math.MaxInt64
	}
	lost := func(demand, capacity int64) int64 {
		return contention.Part(demand, contention.Loss(contention.Load(demand, capacity), d.Model.Limit))
	}
	even := contention.Part(b.Capacity.CPU, contention.Load(a.Demand.CPU+b.Demand.CPU, a.Capacity.CPU+b.Capacity.CPU)) - b.Demand.CPU
	goes := max(0, min(most, even))
	saved := lost(a.Demand.CPU, a.Capacity.CPU) + lost(b.Demand.CPU, b.Capacity.CPU) - lost(a.Demand.CPU-goes, a.Capacity.CPU) - lost(b.Demand.CPU+goes, b.Capacity.CPU)
	return saved + a.Remote + b.Remote + d.Model.Unevenness(squares)
}

// excess is the excess of the weighted squares of two loads with a given difference over
// those of equal loads.
func excess(apart, weight, other int64) int64 {
	return contention.Square(max(apart, -apart)) / max(1, weight+other) * weight * other
}

// demands are the demands of both units of an exchange.
type demands struct{ out, in cluster.Resources }

// weigh computes the merit and the gain of an exchange from the demands of its units now and
// after the move; merit 0 if it is no improvement.
func (s *Search) weigh(x *swap, now, then demands) {
	d := s.d
	a, b := &d.Hosts[x.from], &d.Hosts[x.to]
	left, joined := a.Demand.Minus(now.out).Plus(then.in), b.Demand.Minus(now.in).Plus(then.out)
	if !d.Model.ByScore {
		here, costs := d.Model.Demerit(x.from, left)
		there, cost := d.Model.Demerit(x.to, joined)
		x.merit, x.gain = a.Demerit+b.Demerit-here-there, a.Cost+b.Cost-costs-cost
		return
	}
	here := a.Burden.Plus(d.Burden(x.out, x.from), -1).Plus(d.Burden(x.in, x.from), 1)
	there := b.Burden.Plus(d.Burden(x.in, x.to), -1).Plus(d.Burden(x.out, x.to), 1)
	if d.ScoreOf(x.out, x.to, d.Model.HostLoss(x.to, joined, there)) <= d.ScoreOf(x.out, x.from, a.Loss) {
		return
	}
	x.gain = a.Cost + b.Cost - d.Model.Costs(x.from, left, here) - d.Model.Costs(x.to, joined, there)
	x.merit = x.gain
}

// pays reports whether an exchange saves enough and is worth its migrations, which end in
// time. It sets their total value.
func (s *Search) pays(x *swap) bool {
	return s.saves(x) && s.d.Clock.AllInTime(x.path) && s.copied(x) && (!s.d.Cluster.Settings.CostBenefit || x.value.Net() > 0)
}

// saves reports whether an exchange saves enough: per migration, half of what two must save.
func (s *Search) saves(x *swap) bool {
	saved := x.gain
	if s.byEvenness() {
		saved = x.merit
	}
	return saved/int64(x.size()) >= s.asked(x.from)/2
}

// copied computes the value of an exchange with all its migrations; false if one never ends.
func (s *Search) copied(x *swap) bool {
	x.value = advice.Value{Stable: worth.Horizon}
	for _, h := range x.path {
		v := worth.Sure(s.d, h.Unit, place.Step{VM: h.Unit[0], From: h.From, To: h.To}, 0)
		if v.Copy == 0 {
			return false
		}
		x.value.Cost, x.value.Copy, x.value.Stable = x.value.Cost+v.Cost, x.value.Copy+v.Copy, min(x.value.Stable, v.Stable)
	}
	x.value.Gain = x.gain * x.value.Stable
	x.value.Risk = s.risk(x)
	return true
}

// risk is the loss after the stable time, if the VMs then have their highest demand.
func (s *Search) risk(x *swap) int64 {
	d, worst := s.d, *x
	now, then := demands{d.Demand(x.out), d.Demand(x.in)}, demands{d.Peak(x.out), d.Peak(x.in)}
	if x.gain >= 0 && now == then {
		return 0
	}
	worst.merit = 0
	if s.weigh(&worst, now, then); d.Model.ByScore && worst.merit == 0 {
		return -max(0, x.gain) * (worth.Horizon - x.value.Stable)
	}
	return min(0, worst.gain) * (worth.Horizon - x.value.Stable)
}
