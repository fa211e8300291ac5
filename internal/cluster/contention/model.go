package contention

import "plimsoll/internal/cluster"

// evenShare divides a host's unevenness against its contention: enough to choose among
// moves with equal gain, too little to outweigh a gain.
const evenShare = 8

// Model is what hosts cost by the settings of a cluster. It makes hosts of all sizes and both
// resources comparable.
type Model struct {
	ByScore bool
	Limit   int64  // load up to which hosts serve their VMs undisturbed
	Weight  []Pair // by host: capacity in 64ths of the mean of those that can be used
	MHz     int64  // demerit of one MHz of contention; 0 where the spread alone decides
	Even    bool   // evenness counts as a gain: level 5 where moves are judged by cost and benefit

	c    *cluster.Cluster
	x    *cluster.Index
	most int64 // resolution of contention, in MHz
}

// full is the demerit of the mean host where a resource is in full use.
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

// Rounding is by how many MHz unevenness of four loads may be off in all.
func (m *Model) Rounding() int64 {
	if !m.Even {
		return 0
	}
	return 4
}

// MostWeight is the weight of 16 times the mean.
const MostWeight = 16 * 64

// weight is an amount in 64ths of the mean, at most 16 times of it.
func weight(own, mean int64) int64 { return min(MostWeight, Load(own, max(1, mean))*64/million) }

// Demerit is what the model of deviation makes of a host that is asked for so much: the
// squares of its loads, by its size, which are least in all where the loads are equal; and
// by far more its contention, where moves are judged by cost and benefit. Cost is the
// contention in MHz, with unevenness at level 5.
func (m *Model) Demerit(h cluster.HostID, demand cluster.Resources) (demerit, cost int64) {
	all, w := m.x.Capacity(h), &m.Weight[h]
	cpu, memory := Load(demand.CPU, all.CPU), Load(demand.Memory, all.Memory)
	cost = contended(demand, all, cpu, m.Limit)
	squares := Square(cpu)*w.CPU + Square(memory)*w.Memory
	return squares + min(cost, m.most)*m.MHz, cost + m.Unevenness(squares)
}

// Unevenness is what weighted squares of loads cost at level 5, in MHz; below it they cost
// nothing.
//
// Source: VMware vSphere Resource Management, "DRS migration threshold": level 5 applies
// recommendations that promise even a slight improvement of the balance.
func (m *Model) Unevenness(squares int64) int64 {
	if !m.Even {
		return 0
	}
	return squares / m.MHz
}

// Square is the square of a load, up to 20 times the capacity.
func Square(load int64) int64 {
	v := min(load, 20*million)
	return v * v
}

// LinkLimit is the load of a host's link up to which VMs do not slow each other down.
const LinkLimit = 800_000

// remoteToll is the part of the time that a VM loses on memory of another node: a
// quarter.
const remoteToll = 4

// Burden is the demand of a host's VMs besides CPU and memory.
type Burden struct {
	Link   int64 // bit/s
	Remote int64 // MHz of their demand that are lost on memory of other nodes
}

// Plus is a burden with one more VM, or one less if sign is -1.
func (b Burden) Plus(o Burden, sign int64) Burden {
	return Burden{b.Link + sign*o.Link, b.Remote + sign*o.Remote}
}

// RemoteLoss is what a VM loses on a host because it is larger than one of its NUMA
// nodes, in millionths.
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
func Bears(c *cluster.Cluster, v cluster.VMID, h cluster.HostID, cpu int64) Burden {
	vm := &c.VMs[v]
	return Burden{Link: vm.Demand.Link, Remote: Part(cpu, RemoteLoss(vm, &c.Hosts[h]))}
}

// HostLoss is the part of its work that every VM of a host loses, in millionths.
func (m *Model) HostLoss(h cluster.HostID, asks cluster.Resources, b Burden) int64 {
	all := m.x.Capacity(h)
	loss := max(Loss(Load(asks.CPU, all.CPU), m.Limit), Memory(asks.Memory, all.Memory))
	if b.Link > 0 {
		loss = max(loss, Loss(Load(b.Link, m.c.Hosts[h].NIC), LinkLimit))
	}
	return loss
}

// Wasted is the demand that is lost on a host, in MHz: to remote memory, and of what is
// left to what the VMs of the host do to each other.
func (m *Model) Wasted(h cluster.HostID, asks cluster.Resources, b Burden) int64 {
	return b.Remote + Part(asks.CPU-b.Remote, m.HostLoss(h, asks, b))
}

// Costs are the criteria of moves on a host, in MHz.
func (m *Model) Costs(h cluster.HostID, asks cluster.Resources, b Burden) int64 {
	if !m.ByScore {
		_, cost := m.Demerit(h, asks)
		return cost
	}
	all := m.x.Capacity(h)
	return max(m.Wasted(h, asks, b), b.Remote+Part(all.CPU, Memory(asks.Memory, all.Memory)))
}
