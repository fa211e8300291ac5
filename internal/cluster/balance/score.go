package balance

import (
	"fmt"
	"math/bits"

	"plimsoll/internal/cluster"
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

// linkLimit is the load of a host's link up to which VMs do not feel each other.
const linkLimit = 800_000

// remoteToll is the part of the time that a VM loses on memory of another node: a
// quarter.
const remoteToll = 4

// burden is what the VMs of a host ask for besides CPU and memory.
type burden struct {
	link   int64 // bit/s
	remote int64 // MHz of their demand that are lost on memory of other nodes
}

// plus is a burden with that of one more VM, or of one less where sign is -1.
func (b burden) plus(o burden, sign int64) burden {
	return burden{b.link + sign*o.link, b.remote + sign*o.remote}
}

// remoteLoss is what a VM loses on a host because it is larger than one of its NUMA
// nodes, in millionths.
func remoteLoss(vm *cluster.VM, host *cluster.Host) int64 {
	nodes := int64(host.Nodes())
	if nodes <= 1 {
		return 0
	}
	over := int64(0)
	if vm.VCPUs > host.CoresPerNode {
		over = million - load(int64(host.CoresPerNode), int64(vm.VCPUs))
	}
	if near := host.Memory / nodes; vm.Memory > near {
		over = max(over, million-load(near, vm.Memory))
	}
	return over / remoteToll
}

// bears is the burden of a VM on a host.
func bears(c *cluster.Cluster, v cluster.VMID, h cluster.HostID, cpu int64) burden {
	vm := &c.VMs[v]
	return burden{link: vm.Demand.Link, remote: part(cpu, remoteLoss(vm, &c.Hosts[h]))}
}

// part is so many millionths of an amount.
func part(amount, millionths int64) int64 {
	high, low := bits.Mul64(uint64(max(0, amount)), uint64(max(0, millionths)))
	q, _ := bits.Div64(high, low, million)
	return int64(q)
}

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
			if least[v] = min(least[v], remoteLoss(&r.c.VMs[v], host)); least[v] == 0 {
				break
			}
		}
	}
	return least
}

// astray is what the VMs of a host lose on memory of other nodes more than they would
// where they lose least, in MHz: above 0 where one of them does.
func (r *round) astray(h cluster.HostID) (sum int64) {
	if r.burden[h].remote == 0 {
		return 0
	}
	for _, v := range r.l.On(h) {
		if more := remoteLoss(&r.c.VMs[v], &r.c.Hosts[h]) - r.remote[v]; more > 0 {
			sum += max(1, part(r.x.Demand(v).CPU, more))
		}
	}
	return sum
}

// burdens are those of all hosts.
func burdens(l *cluster.Layout, x *cluster.Index) []burden {
	c := l.Cluster()
	list := make([]burden, len(c.Hosts))
	for h := range list {
		for _, v := range l.On(cluster.HostID(h)) {
			list[h] = list[h].plus(bears(c, v, cluster.HostID(h), x.Demand(v).CPU), 1)
		}
	}
	return list
}

// hostLoss is the part of its work that every VM of a host loses, in millionths.
func (r *round) hostLoss(h cluster.HostID, asks cluster.Resources, b burden) int64 {
	all := r.x.Capacity(h)
	loss := max(Loss(load(asks.CPU, all.CPU), r.limit), memoryLoss(asks.Memory, all.Memory))
	if b.link > 0 {
		loss = max(loss, Loss(load(b.link, r.c.Hosts[h].NIC), linkLimit))
	}
	return loss
}

// wasted is the demand that is lost on a host, in MHz: to remote memory, and of what is
// left to what the VMs of the host do to each other.
func (r *round) wasted(h cluster.HostID, asks cluster.Resources, b burden) int64 {
	return b.remote + part(asks.CPU-b.remote, r.hostLoss(h, asks, b))
}

// costs is what moves are judged by on a host, in MHz.
func (r *round) costs(h cluster.HostID, asks cluster.Resources, b burden) int64 {
	if !r.byScore {
		_, cost := r.demerit(h, asks)
		return cost
	}
	all := r.x.Capacity(h)
	return max(r.wasted(h, asks, b), b.remote+part(all.CPU, memoryLoss(asks.Memory, all.Memory)))
}

// wastes is that of a host as it is.
func (r *round) wastes(h cluster.HostID) int64 {
	if !r.c.Hosts[h].Runs() {
		return r.l.Demand(h).CPU
	}
	return r.wasted(h, r.l.Demand(h), r.burden[h])
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
	return million - min(million, load(wasted, asked))
}

// raise is the score of a VM before and after a step, with those that move with it.
func (r *round) raise(s place.Step) (before, after int64) {
	unit := r.units.with(r.l, s.VM)
	will, there := r.l.Demand(s.To).Plus(r.asks(unit)), r.burden[s.To].plus(r.bears(unit, s.To), 1)
	return r.scores(unit, s.From, r.hostLoss(s.From, r.l.Demand(s.From), r.burden[s.From])), r.scores(unit, s.To, r.hostLoss(s.To, will, there))
}

// scoreWords say what a step does to scores.
func (r *round) scoreWords(s place.Step) string {
	unit := r.units.with(r.l, s.VM)
	there := func(b burden, asks cluster.Resources) float64 { return points(million - r.hostLoss(s.To, asks, b)) }
	before, after := r.raise(s)
	return fmt.Sprintf("its score would go from %.1f to %.1f, and that of the VMs it joins from %.1f to %.1f", points(before), points(after),
		there(r.burden[s.To], r.l.Demand(s.To)), there(r.burden[s.To].plus(r.bears(unit, s.To), 1), r.l.Demand(s.To).Plus(r.asks(unit))))
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
