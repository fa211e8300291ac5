package contention

import "plimsoll/internal/cluster"

// evenShare divides a host's imbalance against its contention: enough to choose among moves of
// equal gain, too little to outweigh a gain.
const evenShare = 8

// Model is the cost function of hosts under the settings of a cluster. It makes hosts of all
// sizes and both resources comparable.
type Model struct {
	ByScore bool
	Limit   int64  // load up to which hosts serve their VMs undisturbed
	Weight  []Pair // by host: capacity in 64ths of the mean of the usable hosts
	MHz     int64  // demerit of one MHz of contention; 0 where the spread alone decides
	Even    bool   // evenness counts as a gain: level 5 with cost-benefit

	c    *cluster.Cluster
	x    *cluster.Index
	most int64 // resolution of contention, in MHz
}

// full is the demerit of the mean host with one resource fully used.
const full = million * million * 64

// NewModel is the model of a cluster.
func NewModel(c *cluster.Cluster, x *cluster.Index) *Model {
	m := &Model{ByScore: c.Settings.Model == cluster.ByScore, Limit: Threshold(c.Settings), Weight: make([]Pair, len(c.Hosts)), c: c, x: x}
	var all cluster.Resources
	n := int64(0)
	for h := range c.Hosts {
		if c.Hosts[h].Usable() {
			all, n = all.Plus(x.Capacity(cluster.HostID(h))), n+1
		}
	}
	n = max(1, n)
	for h := range m.Weight {
		own := x.Capacity(cluster.HostID(h))
		m.Weight[h] = Pair{CPU: weight(own.CPU, all.CPU/n), Memory: weight(own.Memory, all.Memory/n)}
	}
	if c.Settings.CostBenefit {
		m.MHz = max(1, evenShare*full/max(1, all.CPU/n))
		m.most = 1 << 61 / m.MHz
		m.Even = c.Settings.Level >= 5 && c.Settings.Model == cluster.ByDeviation
	}
	return m
}

// Rounding is the maximum rounding error of the imbalance of four loads in all, in MHz.
func (m *Model) Rounding() int64 {
	if !m.Even {
		return 0
	}
	return 4
}

// MostWeight is the weight of 16 times the mean.
const MostWeight = 16 * 64

// weight is an amount in 64ths of the mean, capped at 16 times the mean.
func weight(own, mean int64) int64 { return min(MostWeight, Load(own, max(1, mean))*64/million) }

// Demerit is the badness of a host with a demand under the deviation model: the squares of its
// loads, weighted by size, which are minimal in sum where the loads are equal. With
// cost-benefit, contention weighs far more. Cost is the contention in MHz, plus imbalance at
// level 5.
func (m *Model) Demerit(h cluster.HostID, demand cluster.Resources) (demerit, cost int64) {
	all, w := m.x.Capacity(h), &m.Weight[h]
	cpu, memory := Load(demand.CPU, all.CPU), Load(demand.Memory, all.Memory)
	cost = contended(demand, all, cpu, m.Limit)
	squares := Square(cpu)*w.CPU + Square(memory)*w.Memory
	return squares + min(cost, m.most)*m.MHz, cost + m.Unevenness(squares)
}

// Unevenness is the cost of weighted squares of loads at level 5, in MHz; at lower levels it
// is 0.
//
// Source: VMware vSphere Resource Management, "DRS migration threshold": level 5 applies
// recommendations that promise even a slight improvement of the balance.
func (m *Model) Unevenness(squares int64) int64 {
	if !m.Even {
		return 0
	}
	return squares / m.MHz
}

// Square is the square of a load, capped at 20 times the capacity.
func Square(load int64) int64 {
	v := min(load, 20*million)
	return v * v
}

// LinkLimit is the load of a host's link up to which VMs do not delay each other.
const LinkLimit = 800_000

// remoteToll is the divisor of the time that a VM loses on memory of another node: a quarter
// is lost.
const remoteToll = 4

// OtherDemand is the demand of a host's VMs other than CPU and memory.
type OtherDemand struct {
	Link   int64 // bit/s
	Remote int64 // MHz of their demand lost to remote memory
}

// Plus is a burden with one more VM, or one less if sign is -1.
func (b OtherDemand) Plus(o OtherDemand, sign int64) OtherDemand {
	return OtherDemand{b.Link + sign*o.Link, b.Remote + sign*o.Remote}
}

// RemoteLoss is the loss of a VM that is larger than one NUMA node of a host, in millionths.
func RemoteLoss(vm *cluster.VM, host *cluster.Host) int64 {
	nodes := int64(host.Nodes())
	if nodes <= 1 {
		return 0
	}
	over := int64(0)
	if vm.VCPUs > host.CoresPerNode {
		over = million - Load(int64(host.CoresPerNode), int64(vm.VCPUs))
	}
	if near := host.Memory / nodes; vm.Memory > near {
		over = max(over, million-Load(near, vm.Memory))
	}
	return over / remoteToll
}

// Bears is the burden of a VM on a host.
func Bears(c *cluster.Cluster, v cluster.VMID, h cluster.HostID, cpu int64) OtherDemand {
	vm := &c.VMs[v]
	return OtherDemand{Link: vm.Demand.Link, Remote: Part(cpu, RemoteLoss(vm, &c.Hosts[h]))}
}

// HostLoss is the part of its work that every VM of a host loses, in millionths.
func (m *Model) HostLoss(h cluster.HostID, asks cluster.Resources, b OtherDemand) int64 {
	all := m.x.Capacity(h)
	loss := max(Loss(Load(asks.CPU, all.CPU), m.Limit), Memory(asks.Memory, all.Memory))
	if b.Link > 0 {
		loss = max(loss, Loss(Load(b.Link, m.c.Hosts[h].NIC), LinkLimit))
	}
	return loss
}

// Wasted is the demand that is lost on a host, in MHz: to remote memory, and of the rest to
// contention among its VMs.
func (m *Model) Wasted(h cluster.HostID, asks cluster.Resources, b OtherDemand) int64 {
	return b.Remote + Part(asks.CPU-b.Remote, m.HostLoss(h, asks, b))
}

// Costs is the criterion of moves for a host, in MHz.
func (m *Model) Costs(h cluster.HostID, asks cluster.Resources, b OtherDemand) int64 {
	if !m.ByScore {
		_, cost := m.Demerit(h, asks)
		return cost
	}
	all := m.x.Capacity(h)
	return max(m.Wasted(h, asks, b), b.Remote+Part(all.CPU, Memory(asks.Memory, all.Memory)))
}
