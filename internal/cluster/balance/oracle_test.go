package balance

import (
	"reflect"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/cluster/generate"
	"plimsoll/internal/cluster/place"
)

// exhaustive moves machines for the load by looking at all machines and all hosts before
// each move. It keeps nothing from one move to the next but what was barred.
func (r *round) exhaustive() {
	r.busyWith(r.plan.Moves)
	for moves := 0; ; moves++ {
		r.survey()
		if r.plan.Quiet = r.settled(); r.plan.Quiet != "" {
			return
		}
		if most := r.c.Settings.MostMoves; most > 0 && moves == most {
			return
		}
		best, found := r.bestOfAll()
		for found && r.place.Strains(best.Step) != "" {
			r.barred[best.Step] = r.place.Strains(best.Step)
			best, found = r.bestOfAll()
		}
		if !found {
			r.refuse(r.allNotMade())
			return
		}
		why := FairCPU
		if p := loads(r.l, r.x, best.From); p.Memory > p.CPU {
			why = FairMemory
		}
		r.move(best.Step, why, cluster.Nowhere, r.value(best.Step))
		r.spend(best.Step)
	}
}

// eachStep visits all moves for the load that better the layout.
func (r *round) eachStep(visit func(candidate)) {
	for v := range r.c.VMs {
		from := r.l.Host(cluster.VMID(v))
		if from == cluster.Nowhere || !r.mayMove(cluster.VMID(v)) || !r.source(int(from)) {
			continue
		}
		for to := range r.c.Hosts {
			s := place.Step{VM: cluster.VMID(v), From: from, To: cluster.HostID(to)}
			if s.From == s.To || !r.c.Hosts[to].Usable() || !r.worthALook(s.From, s.To) {
				continue
			}
			if merit := r.meritOf(s); merit > 0 {
				visit(candidate{Step: s, merit: merit})
			}
		}
	}
}

// meritOf is the merit of a step, from its definition.
func (r *round) meritOf(s place.Step) int64 {
	asks := r.x.Demand(s.VM)
	if r.byScore {
		if before, after := r.raise(s); after <= before {
			return 0
		}
		return r.gain(s, asks)
	}
	from, to, a, b := r.l.Demand(s.From), r.l.Demand(s.To), r.x.Capacity(s.From), r.x.Capacity(s.To)
	return squares(from, a) + squares(to, b) - squares(from.Minus(asks), a) - squares(to.Plus(asks), b)
}

func (r *round) bestOfAll() (best candidate, found bool) {
	r.eachStep(func(c candidate) {
		if found && !c.better(&best) {
			return
		}
		if r.against(c.Step, r.gain(c.Step, r.x.Demand(c.VM))) == nothing {
			best, found = c, true
		}
	})
	return best, found
}

func (r *round) allNotMade() (list []candidate) {
	r.eachStep(func(c candidate) {
		if c.con = r.against(c.Step, r.gain(c.Step, r.x.Demand(c.VM))); c.con >= neverCopied {
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
