package balance

import (
	"math"
	"reflect"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/cluster/contention"
	"plimsoll/internal/cluster/generate"
	"plimsoll/internal/cluster/place"
)

// exhaustive moves VMs for the load by looking at all VMs and all hosts before
// each move. It keeps nothing from one move to the next but what was barred, and which hosts
// are closed.
func (r *round) exhaustive() {
	r.busyWith(r.plan.Moves)
	r.survey()
	r.relief.measure()
	for begin := len(r.plan.Moves); ; {
		r.survey()
		if r.plan.Quiet = r.settled(); r.plan.Quiet != "" {
			return
		}
		left := math.MaxInt
		if most := r.c.Settings.MostMoves; most > 0 {
			left = most - (len(r.plan.Moves) - begin)
		}
		if left <= 0 {
			return
		}
		best, found := r.bestOfAll(func(h cluster.HostID) bool { return !r.relief.hopeless(h) })
		if !found && r.relief.shrink() {
			continue
		}
		if !found && r.swapOfAll(left) {
			continue
		}
		if !found {
			r.refuse(r.allNotMade())
			return
		}
		r.offOneHost(best.Step, left)
	}
}

// offOneHost plans the best moves off a host, and takes them back where they do not save
// what the level asks for.
func (r *round) offOneHost(s place.Step, left int) {
	from, least, begin, end, saved := s.From, r.relief.least(s.From), len(r.plan.Moves), -1, int64(0)
	for found := true; found; {
		unit := r.units.with(r.l, s.VM)
		if end < 0 && (!r.inTime(s) || len(r.plan.Moves)-begin+len(unit) > left) {
			end = len(r.plan.Moves)
		}
		v := r.value(s)
		saved += v.Gain / v.Stable
		r.relief.carry(unit, s, v)
		r.survey()
		if !r.c.Settings.CostBenefit || saved >= least || saved+r.relief.potential(from) < least {
			break
		}
		busy := r.busy
		r.busy = nil
		var best candidate
		best, found = r.bestOfAll(func(h cluster.HostID) bool { return h == from })
		s, r.busy = best.Step, busy
	}
	if r.c.Settings.CostBenefit && saved < least {
		r.relief.saved[from] = saved
		r.relief.undo(begin)
	} else if end >= 0 {
		r.relief.undo(end)
	}
	r.relief.closed[from] = r.relief.closed[from] || len(r.plan.Moves) == begin
}

// eachStep visits all moves for the load that better the layout.
func (r *round) eachStep(visit func([]cluster.VMID, candidate)) {
	for v := range r.c.VMs {
		from := r.l.Host(cluster.VMID(v))
		if from == cluster.Nowhere || !r.source(int(from)) {
			continue
		}
		unit := r.units.with(r.l, cluster.VMID(v))
		if unit[0] != cluster.VMID(v) || !r.mayAllMove(unit) {
			continue
		}
		for to := range r.c.Hosts {
			s := place.Step{VM: cluster.VMID(v), From: from, To: cluster.HostID(to)}
			if s.From == s.To || !r.c.Hosts[to].Usable() || !r.worthALook(s.From, s.To) {
				continue
			}
			if merit := r.meritOf(unit, s); merit > 0 {
				visit(unit, candidate{Step: s, merit: merit})
			}
		}
	}
}

// meritOf is the merit of a step, from its definition.
func (r *round) meritOf(unit []cluster.VMID, s place.Step) int64 {
	asks := r.asks(unit)
	if r.byScore {
		if before, after := r.raise(s); after <= before {
			return 0
		}
		return r.gain(unit, s, asks)
	}
	sum := func(from, to cluster.Resources) int64 {
		a, _ := r.model.Demerit(s.From, from)
		b, _ := r.model.Demerit(s.To, to)
		return a + b
	}
	from, to := r.l.Demand(s.From), r.l.Demand(s.To)
	return sum(from, to) - sum(from.Minus(asks), to.Plus(asks))
}

// bestOfAll is the best move off such hosts.
func (r *round) bestOfAll(off func(cluster.HostID) bool) (best candidate, found bool) {
	for {
		best, found = candidate{}, false
		r.eachStep(func(unit []cluster.VMID, c candidate) {
			if !off(c.From) || found && !c.better(&best) {
				return
			}
			gain := r.gain(unit, c.Step, r.asks(unit))
			if r.c.Settings.CostBenefit && gain < r.relief.needed(c.From) {
				return
			}
			if r.against(unit, c.Step, gain) == nothing {
				best, found = c, true
			}
		})
		if !found || r.strains(best.Step) == "" {
			return best, found
		}
		r.barred[best.Step] = r.strains(best.Step)
	}
}

// swapOfAll plans the best exchange off the first host that has one, of all pairs of units.
func (r *round) swapOfAll(left int) bool {
	for _, from := range r.swaps.sources() {
		best, found := swap{}, false
		r.eachSwap(from, func(x swap) {
			if (!found || x.better(&best)) && r.swaps.worth(&x) && r.swaps.possible(&x, left) {
				best, found = x, true
			}
		})
		if found {
			begin := len(r.plan.Moves)
			r.swaps.carry(&best)
			for _, h := range touched(r.plan.Moves[begin:]) {
				r.swaps.spent[h] = false
			}
			return true
		}
		r.swaps.spent[from] = true
	}
	return false
}

// eachSwap visits the exchanges off a host that better the layout, each tried in it.
func (r *round) eachSwap(from cluster.HostID, visit func(swap)) {
	state := func(h cluster.HostID) (demerit, cost int64) {
		if r.byScore {
			return 0, r.model.Costs(h, r.l.Demand(h), r.burden[h])
		}
		return r.model.Demerit(h, r.l.Demand(h))
	}
	for to := range cluster.HostID(len(r.c.Hosts)) {
		if to == from || !r.c.Hosts[to].Usable() || !r.worthALook(from, to) {
			continue
		}
		a, b := loads(r.l, r.x, from), loads(r.l, r.x, to)
		for _, out := range r.unitsOf(from) {
			for _, in := range r.unitsOf(to) {
				x, less := swap{out: out, in: in, from: from, to: to}, r.asks(out).Minus(r.asks(in))
				if !r.byScore && (less.CPU <= 0 || a.CPU <= b.CPU) && (less.Memory <= 0 || a.Memory <= b.Memory) {
					continue // it relieves the other host
				}
				d1, c1 := state(from)
				d2, c2 := state(to)
				has := r.scores(out, from, r.model.HostLoss(from, r.l.Demand(from), r.burden[from]))
				r.trade(out, to)
				r.trade(in, from)
				d3, c3 := state(from)
				d4, c4 := state(to)
				will := r.scores(out, to, r.model.HostLoss(to, r.l.Demand(to), r.burden[to]))
				r.trade(in, to)
				r.trade(out, from)
				if x.merit, x.gain = d1+d2-d3-d4, c1+c2-c3-c4; r.byScore {
					if x.merit = x.gain; will <= has {
						continue
					}
				}
				if x.merit > 0 {
					visit(x)
				}
			}
		}
	}
}

// unitsOf are the units of a host that may move.
func (r *round) unitsOf(h cluster.HostID) (list [][]cluster.VMID) {
	for v := range cluster.VMID(len(r.c.VMs)) {
		if r.l.Host(v) == h {
			if unit := r.units.with(r.l, v); unit[0] == v && r.mayAllMove(unit) {
				list = append(list, unit)
			}
		}
	}
	return list
}

// trade has a unit run on another host.
func (r *round) trade(unit []cluster.VMID, to cluster.HostID) {
	for _, v := range unit {
		from, cpu := r.l.Host(v), r.x.Demand(v).CPU
		r.burden[from] = r.burden[from].Plus(contention.Bears(r.c, v, from, cpu), -1)
		r.burden[to] = r.burden[to].Plus(contention.Bears(r.c, v, to, cpu), 1)
		r.l.Move(v, to)
	}
}

func (r *round) allNotMade() (list []candidate) {
	r.eachStep(func(unit []cluster.VMID, c candidate) {
		if c.con = r.against(unit, c.Step, r.gain(unit, c.Step, r.asks(unit))); c.con == nothing {
			c.con = tooLittle
		}
		if c.con >= neverCopied {
			c.Value = r.value(c.Step)
		}
		list = keep(list, c)
	})
	return list
}

func exhaustiveRound(l *cluster.Layout, x *cluster.Index, o advice.Options) advice.Plan {
	r := newRound(l.Clone(), x, o)
	r.plan.Before = r.balance()
	r.mandatory()
	r.shouldRules()
	r.exhaustive()
	r.plan.After = r.balance()
	return r.plan
}

// Plans are those of a search that looks at everything before each move.
func TestPlansAreThoseOfAnExhaustiveSearch(t *testing.T) {
	moves, differ := 0, 0
	for seed := range uint64(100) {
		for _, model := range []cluster.Model{cluster.ByDeviation, cluster.ByScore} {
			hosts := 4 + int(seed%17)
			c := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: hosts, VMs: hosts * (4 + int(seed%9)), Rules: int(seed%7) * 4, Load: .7 + float64(seed%4)/10, Placed: true})
			if seed%3 == 0 {
				c = generate.Cluster(generate.Typical(hosts, seed))
			}
			c.Settings.Model, c.Settings.SpareHosts, c.Settings.Level, c.Settings.CostBenefit = model, int(seed/2%2), 2+int(seed%4), seed%5 > 0
			if seed%8 == 0 {
				c.Hosts[hosts-1].State = cluster.Quarantined
			}
			l, x := layout(c)
			want, got := exhaustiveRound(l, x, advice.Options{}), Round(l, x, advice.Options{})
			moves += len(want.Moves)
			if !reflect.DeepEqual(got, want) {
				differ++
				t.Errorf("seed %d, %s: %d moves, want %d; %d is lost, want %d\n%q\n%q", seed, model, len(got.Moves), len(want.Moves), got.After.Lost, want.After.Lost, got.Quiet, want.Quiet)
			}
		}
	}
	if moves < 1000 {
		t.Errorf("%d moves: the test sees too little", moves)
	}
	t.Logf("%d moves, %d plans differ", moves, differ)
}
