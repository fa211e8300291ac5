package clusters

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"

	"plimsoll/bench/measured"
	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/cluster/contention"
	"plimsoll/internal/cluster/generate"
)

// Cooling is a comparison with annealing: clusters, whose seeds begin with one, and the steps that
// annealing takes in each.
type Cooling struct {
	clusters, steps int
	seed            uint64
}

// NewCooling reads the options after the name of the benchmark.
func NewCooling(args []string) (Cooling, error) {
	k := Cooling{}
	f := flag.NewFlagSet("annealing", flag.ContinueOnError)
	f.IntVar(&k.clusters, "clusters", 100, "how many clusters")
	f.IntVar(&k.steps, "steps", 100_000, "steps that annealing takes in each, twice")
	f.Uint64Var(&k.seed, "seed", 1, "seed of the first cluster")
	if err := f.Parse(args); err != nil {
		return k, err
	}
	if k.clusters < 1 || k.steps < 1 || f.NArg() > 0 {
		return k, fmt.Errorf("annealing takes at least one cluster and one step, and nothing but flags: %v", args)
	}
	return k, nil
}

// Run holds the plan of a round against simulated annealing that may move as many
// VMs, in clusters of 3 to 14 hosts with rules: what is lost, as a share of the demand,
// and the highest load. Annealing begins once rules are mended, and again from the plan; it knows no order of moves,
// no cost of a migration and no rule that only should hold.
func (k Cooling) Run() ([]measured.Result, error) {
	var ours, best, most float64
	var top [2]float64
	moves, furthest := 0, k.seed
	for seed := k.seed; seed < k.seed+uint64(k.clusters); seed++ {
		c := randomCluster(seed)
		x := cluster.NewIndex(c)
		start := cluster.NewLayout(c, x)
		plan := balance.Round(start, x, advice.Options{})
		l := start.Clone()
		for _, m := range plan.Moves {
			l.Move(m.VM, m.To)
			if m.Reason.Mandatory() || m.Reason == advice.ShouldRule {
				start.Move(m.VM, m.To)
			}
		}
		a := newAnnealer(start, x, seed, differ(start, l))
		a.run(k.steps)
		a.from(l)
		a.run(k.steps)
		moves += a.most
		asked := float64(max(1, a.asked()))
		own, peer := lostIn(l, x)/asked, a.least/asked
		ours, best = ours+own, best+peer
		if own-peer > most {
			most, furthest = own-peer, seed
		}
		top = [2]float64{top[0] + highest(l, x), top[1] + highest(a.best, x)}
	}
	percent := func(sum float64) float64 { return 100 * sum / float64(k.clusters) }
	return []measured.Result{
		{What: fmt.Sprintf("%d clusters from seed %d, level 3: work that is lost", k.clusters, k.seed), Got: percent(ours), Against: "annealing, as many moves", Limit: percent(best), Unit: "%"},
		{What: "gap to annealing, mean", Got: percent(ours - best), Against: "goal", Limit: .2, Unit: "points"},
		{What: fmt.Sprintf("gap to annealing, largest (seed %d)", furthest), Got: 100 * most, Against: "goal of the mean", Limit: .2, Unit: "points"},
		{What: "highest load, mean", Got: percent(top[0]), Against: "annealing, as many moves", Limit: percent(top[1]), Unit: "%"},
		{What: "VMs moved in all", Got: float64(moves), Against: "annealing, at most", Limit: float64(moves), Unit: "VMs"},
	}, nil
}

// randomCluster is of a size, load and number of rules that follow from the seed.
func randomCluster(seed uint64) *cluster.Cluster {
	hosts := 3 + int(seed%12)
	if seed%2 == 0 {
		spec := generate.Typical(hosts, seed)
		spec.Load, spec.Skew = 45+int(seed%7)*6, 10+int(seed%5)*10
		c, _ := generate.Cluster(spec)
		return c
	}
	return clustertest.Random(clustertest.Spec{Seed: seed, Hosts: hosts, VMs: hosts * (3 + int(seed%19)), Rules: int(seed % 9), Load: .5 + float64(seed%6)/12, Placed: true})
}

// differ counts the VMs that have another host in another layout.
func differ(a, b *cluster.Layout) (n int) {
	for v := range a.Cluster().VMs {
		if id := cluster.VMID(v); a.Host(id) != b.Host(id) {
			n++
		}
	}
	return n
}

func lostIn(l *cluster.Layout, x *cluster.Index) (sum float64) {
	for h := range l.Cluster().Hosts {
		sum += float64(lost(l, x, cluster.HostID(h)))
	}
	return sum
}

func lost(l *cluster.Layout, x *cluster.Index, h cluster.HostID) int64 {
	return contention.Lost(l.Demand(h), x.Capacity(h), contention.Threshold(l.Cluster().Settings))
}

// highest is the highest load of CPU.
func highest(l *cluster.Layout, x *cluster.Index) (top float64) {
	for h := range l.Cluster().Hosts {
		id := cluster.HostID(h)
		top = max(top, float64(l.Demand(id).CPU)/float64(max(1, x.Capacity(id).CPU)))
	}
	return top
}

// annealer looks for the layout that loses least with so many VMs moved at most.
type annealer struct {
	c           *cluster.Cluster
	x           *cluster.Index
	start, l    *cluster.Layout
	best        *cluster.Layout
	lost, least float64
	most, away  int
	r           *rand.Rand
}

func newAnnealer(start *cluster.Layout, x *cluster.Index, seed uint64, most int) *annealer {
	a := &annealer{c: start.Cluster(), x: x, start: start, l: start.Clone(), best: start.Clone(), most: most, r: rand.New(rand.NewPCG(seed, 0xa22ea1))}
	a.lost = lostIn(a.l, x)
	a.least = a.lost
	return a
}

// from goes on from another layout.
func (a *annealer) from(l *cluster.Layout) {
	a.l, a.lost, a.away = l.Clone(), lostIn(l, a.x), differ(a.start, l)
	if a.lost < a.least {
		a.least, a.best = a.lost, a.l.Clone()
	}
}

func (a *annealer) asked() (sum int64) {
	for h := range a.c.Hosts {
		sum += a.start.Demand(cluster.HostID(h)).CPU
	}
	return sum
}

// run cools from a temperature at which a hundredth of what is lost at first is nothing.
func (a *annealer) run(steps int) {
	if a.most == 0 {
		return
	}
	hot := max(1, a.lost/100)
	for i := range steps {
		a.step(hot * math.Pow(1e-4, float64(i)/float64(steps)))
	}
}

// step tries a change: a unit to another host, and half of the time one that moved back to
// where it came from.
func (a *annealer) step(temperature float64) {
	var undo []cluster.VMID
	var from []cluster.HostID
	before := a.lost
	move := func(unit []cluster.VMID, to func(cluster.VMID) cluster.HostID) bool {
		for _, v := range unit {
			undo, from = append(undo, v), append(from, a.l.Host(v))
			a.take(v, cluster.Nowhere)
		}
		for _, v := range unit {
			if h := to(v); a.l.Obstacle(v, h).Check == cluster.Fine {
				a.take(v, h)
			} else {
				return false
			}
		}
		return true
	}
	fine := true
	if v := cluster.VMID(a.r.IntN(len(a.c.VMs))); a.r.IntN(2) == 0 && a.l.Host(v) != a.start.Host(v) {
		fine = move(a.unit(v), a.start.Host)
	}
	if v := cluster.VMID(a.r.IntN(len(a.c.VMs))); fine && a.l.Host(v) != cluster.Nowhere && !a.c.VMs[v].Pinned {
		to := cluster.HostID(a.r.IntN(len(a.c.Hosts)))
		fine = move(a.unit(v), func(cluster.VMID) cluster.HostID { return to })
	}
	if fine && a.away <= a.most && (a.lost <= before || a.r.Float64() < math.Exp((before-a.lost)/temperature)) {
		if a.lost < a.least {
			a.least, a.best = a.lost, a.l.Clone()
		}
		return
	}
	for i := len(undo) - 1; i >= 0; i-- {
		a.take(undo[i], from[i])
	}
}

// unit is a VM with those that must stay together with it.
func (a *annealer) unit(v cluster.VMID) []cluster.VMID {
	for _, r := range a.x.Rules(v) {
		if rule := &a.c.Rules[r]; rule.Kind == cluster.Together && rule.Must {
			var unit []cluster.VMID
			for _, w := range rule.VMs {
				if a.l.Host(w) != cluster.Nowhere {
					unit = append(unit, w)
				}
			}
			return unit
		}
	}
	return []cluster.VMID{v}
}

// take has a VM run elsewhere, and keeps count.
func (a *annealer) take(v cluster.VMID, to cluster.HostID) {
	count := func(h cluster.HostID, sign float64) {
		if h != cluster.Nowhere {
			a.lost += sign * float64(lost(a.l, a.x, h))
		}
	}
	from, home := a.l.Host(v), a.start.Host(v)
	if from == to {
		return
	}
	count(from, -1)
	count(to, -1)
	a.l.Move(v, to)
	count(from, 1)
	count(to, 1)
	if from == home {
		a.away++
	}
	if to == home {
		a.away--
	}
}
