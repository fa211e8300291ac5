package balance

import (
	"fmt"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/contention"
	"plimsoll/internal/cluster/place"
)

// The score of a VM on a host is how efficiently it would run there: 1 when it gets
// all that it asks for undisturbed. What its host loses takes from the score, whatever is
// worst there: waiting for cores, memory that does not fit, a link that is nearly full. So
// does what the VM loses because it is larger than a NUMA node. The score of a
// cluster is the mean of its VMs', each with the weight of its demand of CPU.
//
// Source: the idea is that of the VM score of vSphere 7 (VMware, "A closer look at the
// VM DRS score"), whose formula is not published. This one is ours.

// nearest is what each VM loses at least on memory of other nodes, on whatever host that
// can be used, in millionths; nil for the model of deviation.
func (r *round) nearest() []int64 {
	if !r.byScore {
		return nil
	}
	type nodes struct {
		n, cores int
		memory   int64
	}
	var kinds []*cluster.Host
	known := map[nodes]bool{}
	for h := range r.c.Hosts {
		host := &r.c.Hosts[h]
		if of := (nodes{host.Nodes(), host.CoresPerNode, host.Memory}); host.Usable() && !known[of] {
			known[of], kinds = true, append(kinds, host)
		}
	}
	least := make([]int64, len(r.c.VMs))
	for v := range least {
		least[v] = million
		for _, host := range kinds {
			if least[v] = min(least[v], contention.RemoteLoss(&r.c.VMs[v], host)); least[v] == 0 {
				break
			}
		}
	}
	return least
}

// astray is what the VMs of a host lose on memory of other nodes more than they would
// where they lose least, in MHz: above 0 where one of them does.
func (r *round) astray(h cluster.HostID) (sum int64) {
	if r.burden[h].Remote == 0 {
		return 0
	}
	for _, v := range r.l.On(h) {
		if more := contention.RemoteLoss(&r.c.VMs[v], &r.c.Hosts[h]) - r.remote[v]; more > 0 {
			sum += max(1, contention.Part(r.x.Demand(v).CPU, more))
		}
	}
	return sum
}

// burdens are those of all hosts.
func burdens(l *cluster.Layout, x *cluster.Index) []contention.Burden {
	c := l.Cluster()
	list := make([]contention.Burden, len(c.Hosts))
	for h := range list {
		for _, v := range l.On(cluster.HostID(h)) {
			list[h] = list[h].Plus(contention.Bears(c, v, cluster.HostID(h), x.Demand(v).CPU), 1)
		}
	}
	return list
}

// wastes is that of a host as it is.
func (r *round) wastes(h cluster.HostID) int64 {
	if !r.c.Hosts[h].Runs() {
		return r.l.Demand(h).CPU
	}
	return r.model.Wasted(h, r.l.Demand(h), r.burden[h])
}

// score is that of the whole cluster, in millionths.
func (r *round) score() int64 {
	asked, wasted := int64(0), int64(0)
	for h := range r.c.Hosts {
		asked += r.l.Demand(cluster.HostID(h)).CPU
		wasted += r.wastes(cluster.HostID(h))
	}
	if asked <= 0 {
		return million
	}
	return million - min(million, contention.Load(wasted, asked))
}

// raise is the score of a VM before and after a step, with those that move with it.
func (r *round) raise(s place.Step) (before, after int64) {
	unit := r.units.with(r.l, s.VM)
	will, there := r.l.Demand(s.To).Plus(r.asks(unit)), r.burden[s.To].Plus(r.bears(unit, s.To), 1)
	return r.scores(unit, s.From, r.model.HostLoss(s.From, r.l.Demand(s.From), r.burden[s.From])), r.scores(unit, s.To, r.model.HostLoss(s.To, will, there))
}

// scoreWords say what a step does to scores.
func (r *round) scoreWords(s place.Step) string {
	unit := r.units.with(r.l, s.VM)
	there := func(b contention.Burden, asks cluster.Resources) float64 {
		return points(million - r.model.HostLoss(s.To, asks, b))
	}
	before, after := r.raise(s)
	return fmt.Sprintf("its score would go from %.1f to %.1f, and that of the VMs it joins from %.1f to %.1f", points(before), points(after),
		there(r.burden[s.To], r.l.Demand(s.To)), there(r.burden[s.To].Plus(r.bears(unit, s.To), 1), r.l.Demand(s.To).Plus(r.asks(unit))))
}

// rises is by how much a VM's score must be able to rise for a cluster to count as
// unbalanced, in millionths: what the difference of loads costs that counts at the level.
func rises(level int) int64 { return pairwise[min(level, 5)] / 4 }

// scoresSettled is why scores are high enough; empty when they are not.
func (r *round) scoresSettled() string {
	few := rises(r.c.Settings.Level)
	most := r.mostRise(few)
	if most > few {
		return ""
	}
	return fmt.Sprintf("the cluster's score is %.1f of 100, and no VM would score more than %.1f points higher on another host: level %d lets it be %.1f",
		points(r.score()), points(most), r.c.Settings.Level, points(few))
}
