package generate

import (
	"strconv"

	"plimsoll/internal/cluster"
)

const gib = 1 << 30

// populate generates the VMs, application by application, followed by those that may be added
// later.
func (t *trace) populate() {
	s := &stream{seed: hash(t.spec.Seed, forStream)}
	t.applications(s, t.spec.VMs)
	for i := range t.vms {
		t.groups[t.vms[i].group] = append(t.groups[t.vms[i].group], i)
	}
	before := len(t.groups)
	const week = 7 // days, of which each adds one VM in fifty
	t.applications(s, min(t.spec.VMs+t.spec.VMs/50*week, 2*mostVMs))
	t.groups = t.groups[:before]
}

// applications makes VMs until there are n.
func (t *trace) applications(s *stream, n int) {
	groups := make([]int, len(groupSizes))
	for i, g := range groupSizes {
		groups[i] = g.weight
	}
	kinds := make([]int, len(behaviours))
	for i := range behaviours {
		kinds[i] = behaviours[i].weight
	}
	sizes := weights(t.spec)
	for len(t.vms) < n {
		g := groupSizes[s.pick(groups)]
		group := len(t.groups)
		t.groups = append(t.groups, nil)
		kind := &behaviours[s.pick(kinds)]
		pool := cluster.PoolID(s.below(t.spec.Pools + 1))
		network, store := t.needs(s, t.spec.Networks), t.needs(s, t.spec.Datastores)
		first := s.pick(sizes)
		for k := range min(g.from+s.below(g.to-g.from+1), n-len(t.vms)) {
			shape := shapes[first]
			if s.below(3) == 0 { // most VMs of an application are alike
				shape = shapes[s.pick(sizes)]
			}
			m := vm{group: group, kind: kind, busy: logNormal(one, .5, s.next())}
			m.vm = cluster.VM{
				Name: kind.name + "-" + strconv.Itoa(group+1) + "-" + strconv.Itoa(k+1), Host: cluster.Nowhere, Pool: pool,
				VCPUs: shape.vcpus, Memory: shape.memory * gib, Networks: []int32{network}, Datastores: []int32{store},
			}
			t.promise(&m.vm, s)
			t.vms = append(t.vms, m)
		}
	}
}

// needs is the network or datastore of an application: mostly the first, which all hosts have.
func (t *trace) needs(s *stream, n int) int32 {
	if s.below(2) == 0 {
		return 0
	}
	return int32(s.below(n))
}

// promise gives a VM its shares, and one VM in six a reservation.
func (t *trace) promise(v *cluster.VM, s *stream) {
	level := []cluster.ShareLevel{cluster.ShareLow, cluster.ShareNormal, cluster.ShareHigh}[s.pick([]int{15, 70, 15})]
	v.CPU, v.Mem = cluster.Allocation{Limit: cluster.Unlimited}, cluster.Allocation{Limit: cluster.Unlimited}
	v.CPU.Shares, v.Mem.Shares = cluster.VMShares(level, v.VCPUs, v.Memory)
	v.Overhead = 64<<20 + int64(v.VCPUs)*16<<20 + v.Memory/256
	if s.below(6) == 0 {
		v.CPU.Reservation, v.Mem.Reservation = int64(v.VCPUs)*200, v.Memory/2
	}
}

func makePools(s Spec) []cluster.Pool {
	x := &stream{seed: hash(s.Seed, forStream, 1)}
	cpu, memory := cluster.PoolShares(cluster.ShareNormal)
	root := cluster.Pool{Name: "root", Parent: cluster.Nowhere, Level: cluster.ShareNormal}
	root.CPU = cluster.Allocation{Limit: cluster.Unlimited, Shares: cpu, Expandable: true}
	root.Mem = cluster.Allocation{Limit: cluster.Unlimited, Shares: memory, Expandable: true}
	list := []cluster.Pool{root}
	for i := range s.Pools {
		p := root
		p.Name = "pool-" + strconv.Itoa(i+1)
		p.Parent = 0
		if i >= 3 && x.below(2) == 0 {
			p.Parent = cluster.PoolID(1 + x.below(i))
		}
		p.Level = []cluster.ShareLevel{cluster.ShareLow, cluster.ShareNormal, cluster.ShareHigh}[x.pick([]int{20, 60, 20})]
		p.CPU.Shares, p.Mem.Shares = cluster.PoolShares(p.Level)
		p.Scalable = x.below(5) == 0
		list = append(list, p)
	}
	return list
}
