package draft

import (
	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/contention"
)

// The score of a VM on a host is how efficiently it would run there: 1 if it gets its whole
// demand undisturbed. The largest loss on the host lowers it: waiting for cores, memory that
// does not fit, or a link that is nearly full. If larger, the VM's own loss to a size beyond a
// NUMA node lowers it instead. The score of a cluster is the mean of its VMs' scores, weighted
// by CPU demand.
//
// Source: the idea is that of the VM score of vSphere 7 (VMware, "A closer look at the VM DRS
// score"), whose formula is not published. This one is ours.

// Score is the score of the whole cluster, in millionths.
func (d *Draft) Score() int64 {
	asked, wasted := int64(0), int64(0)
	for h := range d.Hosts {
		asked += d.Hosts[h].Demand.CPU
		wasted += d.Wasted(cluster.HostID(h))
	}
	if asked <= 0 {
		return million
	}
	return million - min(million, contention.Load(wasted, asked))
}

// Wasted is the demand that a host does not serve, in MHz.
func (d *Draft) Wasted(h cluster.HostID) int64 {
	o := &d.Hosts[h]
	if !d.Cluster.Hosts[h].Runs() {
		return o.Demand.CPU
	}
	return d.Model.Wasted(h, o.Demand, o.Burden)
}

// ScoreOf is the mean score of VMs on a host with a loss, weighted by their demand.
func (d *Draft) ScoreOf(vms []cluster.VMID, h cluster.HostID, loss int64) int64 {
	host := &d.Cluster.Hosts[h]
	if len(vms) == 1 {
		return contention.Part(million-loss, million-contention.RemoteLoss(&d.Cluster.VMs[vms[0]], host))
	}
	asked, remote := int64(0), int64(0)
	for _, v := range vms {
		cpu := d.Index.Demand(v).CPU
		asked, remote = asked+cpu, remote+contention.Part(cpu, contention.RemoteLoss(&d.Cluster.VMs[v], host))
	}
	return contention.Part(million-loss, million-min(million, contention.Load(remote, max(1, asked))))
}

// leastRemote is the lowest loss to remote memory of each VM on any usable host, in
// millionths; nil under the deviation model.
func leastRemote(c *cluster.Cluster) []int64 {
	if c.Settings.Model != cluster.ByScore {
		return nil
	}
	type nodes struct {
		n, cores int
		memory   int64
	}
	var kinds []*cluster.Host
	known := map[nodes]bool{}
	for h := range c.Hosts {
		host := &c.Hosts[h]
		if of := (nodes{host.Nodes(), host.CoresPerNode, host.Memory}); host.Usable() && !known[of] {
			known[of], kinds = true, append(kinds, host)
		}
	}
	least := make([]int64, len(c.VMs))
	for v := range least {
		least[v] = million
		for _, host := range kinds {
			if least[v] = min(least[v], contention.RemoteLoss(&c.VMs[v], host)); least[v] == 0 {
				break
			}
		}
	}
	return least
}

// avoidable is the loss of a host's VMs to remote memory beyond the loss on their best hosts,
// in MHz.
func (d *Draft) avoidable(h cluster.HostID) (sum int64) {
	if d.Hosts[h].Burden.Remote == 0 {
		return 0
	}
	for _, v := range d.Layout.On(h) {
		if more := contention.RemoteLoss(&d.Cluster.VMs[v], &d.Cluster.Hosts[h]) - d.remote[v]; more > 0 {
			sum += max(1, contention.Part(d.Index.Demand(v).CPU, more))
		}
	}
	return sum
}
