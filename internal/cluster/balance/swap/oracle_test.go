package swap

import (
	"fmt"
	"reflect"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/balance/draft"
	"plimsoll/internal/cluster/balance/goal"
	"plimsoll/internal/cluster/balance/relief"
	"plimsoll/internal/cluster/balance/repair"
	"plimsoll/internal/cluster/balance/search"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/cluster/generate"
	"plimsoll/internal/effort"
)

// bestOfAll is the best exchange off a host of all pairs of units.
func (s *Search) bestOfAll(from cluster.HostID, most int) (best swap, found bool) {
	s.eachSwap(from, func(x swap) {
		if (!found || x.better(&best)) && s.worth(&x) && s.possible(&x, most) {
			best, found = x, true
		}
	})
	return best, found
}

// eachSwap visits the exchanges off a host that improve the layout.
func (s *Search) eachSwap(from cluster.HostID, visit func(swap)) {
	d := s.d
	begin := len(d.Plan.Moves)
	for to := range cluster.HostID(len(d.Hosts)) {
		if !d.MayGain(from, to) {
			continue
		}
		a, b := d.Hosts[from].Loads, d.Hosts[to].Loads
		for _, out := range s.unitsOf(from) {
			for _, in := range s.unitsOf(to) {
				less := d.Demand(out).Minus(d.Demand(in))
				if !d.Model.ByScore && (less.CPU <= 0 || a.CPU <= b.CPU) && (less.Memory <= 0 || a.Memory <= b.Memory) {
					continue // it relieves the other host
				}
				now := [...]draft.Host{d.Hosts[from], d.Hosts[to]}
				x := swap{out: out, in: in, from: from, to: to}
				d.Move(out, to, advice.For(advice.FairCPU))
				d.Move(in, from, advice.For(advice.FairCPU))
				then := [...]draft.Host{d.Hosts[from], d.Hosts[to]}
				d.Undo(begin)
				for i := range now {
					x.merit += now[i].Demerit - then[i].Demerit
					x.gain += now[i].Cost - then[i].Cost
				}
				if d.Model.ByScore {
					if x.merit = x.gain; d.ScoreOf(out, to, then[1].Loss) <= d.ScoreOf(out, from, now[0].Loss) {
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

// unitsOf lists the units of a host that may move.
func (s *Search) unitsOf(h cluster.HostID) (list [][]cluster.VMID) {
	d := s.d
	for v := range cluster.VMID(len(d.Cluster.VMs)) {
		if d.Layout.Host(v) == h {
			if vms := d.Units.With(d.Layout, v); vms[0] == v && d.MayAllMove(vms) {
				list = append(list, vms)
			}
		}
	}
	return list
}

// clusters visits clusters to compare exchanges in: all kinds, and small ones of large VMs, in
// which exchanges are often worth it.
func clusters(visit func(string, *cluster.Cluster)) {
	for seed := range uint64(effort.Of(100)) {
		for _, model := range []cluster.Model{cluster.ByDeviation, cluster.ByScore} {
			hosts := 4 + int(seed%17)
			c := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: hosts, VMs: hosts * (4 + int(seed%9)), Rules: int(seed%7) * 4, Load: .7 + float64(seed%4)/10, Placed: true})
			if seed%3 == 0 {
				c, _ = generate.Cluster(generate.Typical(hosts, seed))
			}
			c.Settings.Model, c.Settings.SpareHosts, c.Settings.Level, c.Settings.CostBenefit = model, int(seed/2%2), 2+int(seed%4), seed%5 > 0
			if seed%8 == 0 {
				c.Hosts[hosts-1].State = cluster.Quarantined
			}
			visit(fmt.Sprintf("seed %d, %s", seed, model), c)
		}
	}
	for seed := range uint64(effort.Of(800)) {
		n := 3 + int(seed%6)
		c := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: n, VMs: n * (2 + int(seed%4)), Rules: int(seed % 7), Load: .5 + float64(seed%5)/12, Placed: true})
		for h := range c.Hosts {
			c.Hosts[h].NIC = 100_000_000_000
		}
		if seed%2 == 0 {
			c.Settings.Model = cluster.ByScore
		}
		c.Settings.Level, c.Settings.CostBenefit, c.Settings.SpareHosts = 2+int(seed/2%4), seed%3 > 0, int(seed/6%2)
		visit(fmt.Sprintf("small, seed %d", seed), c)
	}
}

// round plans a round, with a custom search of exchanges once no single move is left.
func round(c *cluster.Cluster, exchange func(*Search, *draft.Draft) bool) {
	l, x := clustertest.Layout(c)
	d := draft.New(l, x, advice.Options{})
	repair.Mandatory(d)
	repair.ShouldRules(d)
	d.Balancing()
	f := relief.New(d)
	enough, moves, s := goal.New(d, f), search.New(d, f), New(d, f)
	moves.Renew()
	for enough.Reached() == "" {
		begin := len(d.Plan.Moves)
		switch from, found := moves.Best(); {
		case found:
			moves.Off(from, len(c.VMs))
		case f.Shrink():
			moves.Renew()
		case exchange(s, d):
			moves.Changed(begin)
		default:
			return
		}
	}
}

// Exchanges equal those of a search of all pairs of units, once no single move is left.
func TestExchangesAreThoseOfAnExhaustiveSearch(t *testing.T) {
	exchanges := 0
	clusters(func(name string, c *cluster.Cluster) {
		round(c, func(s *Search, d *draft.Draft) bool {
			var want swap
			for _, from := range s.sources() {
				best, found := s.bestOfAll(from, len(c.VMs))
				if got, same := s.best(from, len(c.VMs)); same != found || !reflect.DeepEqual(got, best) {
					t.Fatalf("%s: off %d %+v, want %+v", name, from, got, best)
				}
				if found {
					want = best
					break
				}
			}
			begin := len(d.Plan.Moves)
			if made := s.Make(len(c.VMs)); made != (want.out != nil) {
				t.Fatalf("%s: made %v, want %+v", name, made, want)
			} else if !made {
				return false
			}
			exchanges++
			if m := d.Plan.Moves[begin]; m.Relieves != want.from || m.Value != want.value {
				t.Errorf("%s: %+v, want %+v", name, m, want)
			}
			return true
		})
	})
	t.Logf("%d exchanges", exchanges)
	if exchanges < effort.Of(50)-2 {
		t.Errorf("%d exchanges: the test sees too little", exchanges)
	}
}
