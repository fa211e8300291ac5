package balance

import (
	"math"
	"reflect"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/cluster/generate"
	"plimsoll/internal/cluster/place"
)

// exhaustive moves machines for the load by looking at all machines and all hosts before
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
		a, _ := r.demerit(s.From, from)
		b, _ := r.demerit(s.To, to)
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

func exhaustiveRound(l *cluster.Layout, x *cluster.Index, o Options) Plan {
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
			want, got := exhaustiveRound(l, x, Options{}), Round(l, x, Options{})
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
