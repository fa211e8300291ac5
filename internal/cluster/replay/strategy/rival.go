package strategy

import (
	"cmp"
	"math"
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/replay"
)

// rival is a policy of another scheduler: it starts VMs, evacuates hosts in maintenance and
// repairs rules, the largest VM first, on the least loaded host without an obstacle. Only its
// load balancing is specific.
type rival struct {
	every   int64
	balance func(*decision)
}

// Every is the interval of its rounds.
func (p rival) Every() int64 { return p.every }

// Round makes the mandatory moves, and then those for load balance.
func (p rival) Round(v *replay.View) []replay.Step {
	r := decision{v: v}
	r.must()
	p.balance(&r)
	return r.steps
}

// decision is a round of a rival in progress.
type decision struct {
	v     *replay.View
	steps []replay.Step
}

// must makes the mandatory moves.
func (r *decision) must() {
	var vms []cluster.VMID
	for i := range r.v.Cluster.VMs {
		h := r.v.Cluster.VMs[i].Host
		if r.v.Down[i] || h != cluster.Nowhere && !r.v.Moving[i] && r.v.Layout.Obstacle(cluster.VMID(i), h).Check != cluster.Fine {
			vms = append(vms, cluster.VMID(i))
		}
	}
	r.largestFirst(vms)
	for _, v := range vms {
		h := r.v.Layout.Host(v)
		if h != cluster.Nowhere && !r.v.Down[v] && r.v.Layout.Obstacle(v, h).Check == cluster.Fine {
			continue // an earlier move repaired it
		}
		if r.v.Cluster.Hosts[max(0, h)].State == cluster.Quarantined && h != cluster.Nowhere {
			continue // a host in quarantine keeps its VMs
		}
		if to := r.freest(v); to != cluster.Nowhere {
			r.move(v, to, "must")
		}
	}
}

func (r *decision) move(v cluster.VMID, to cluster.HostID, why string) {
	r.v.Layout.Move(v, to)
	r.steps = append(r.steps, replay.Step{VM: v, To: to, Reason: why})
}

func (r *decision) largestFirst(vms []cluster.VMID) {
	slices.SortFunc(vms, func(a, b cluster.VMID) int {
		return cmp.Or(cmp.Compare(r.v.Cluster.VMs[b].Memory, r.v.Cluster.VMs[a].Memory), cmp.Compare(a, b))
	})
}

// may reports whether a VM may move to a host.
func (r *decision) may(v cluster.VMID, to cluster.HostID) bool {
	return r.v.Layout.Host(v) != to && r.v.Layout.Obstacle(v, to).Check == cluster.Fine
}

// freest is the least loaded host that may run a VM, by its more loaded resource.
func (r *decision) freest(v cluster.VMID) cluster.HostID {
	best, least := cluster.HostID(cluster.Nowhere), math.Inf(1)
	for h := range r.v.Cluster.Hosts {
		id := cluster.HostID(h)
		if cpu, memory := r.loads(id); r.may(v, id) && max(cpu, memory) < least {
			best, least = id, max(cpu, memory)
		}
	}
	return best
}

// loads are the demands of hosts as shares of their capacity.
func (r *decision) loads(h cluster.HostID) (cpu, memory float64) {
	return shares(r.v.Layout.Demand(h), r.v.Index.Capacity(h))
}

func shares(demand, all cluster.Resources) (cpu, memory float64) {
	return float64(demand.CPU) / float64(max(1, all.CPU)), float64(demand.Memory) / float64(max(1, all.Memory))
}

// usable lists the hosts that may receive VMs.
func (r *decision) usable() (out []cluster.HostID) {
	for h := range r.v.Cluster.Hosts {
		if r.v.Cluster.Hosts[h].Usable() {
			out = append(out, cluster.HostID(h))
		}
	}
	return out
}

// free lists the VMs that may be moved for load balance.
func (r *decision) free() (out []cluster.VMID) {
	for i := range r.v.Cluster.VMs {
		vm := &r.v.Cluster.VMs[i]
		if vm.Host != cluster.Nowhere && !vm.Pinned && !r.v.Moving[i] && !r.v.Down[i] && r.v.Cluster.Hosts[vm.Host].Usable() {
			out = append(out, cluster.VMID(i))
		}
	}
	return out
}
