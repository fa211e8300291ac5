package warning

import (
	"fmt"
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/doctor/words"
)

// unusable finds a cluster without usable hosts.
func unusable(s indexedCluster) []Warning {
	for h := range s.c.Hosts {
		if s.c.Hosts[h].Usable() {
			return nil
		}
	}
	if len(s.c.Hosts) == 0 {
		return []Warning{{Kind: "no host", Text: "the cluster has no hosts", Do: "add one"}}
	}
	return []Warning{{Kind: "no host", Text: fmt.Sprintf("none of the %s can be used: each is in maintenance, quarantined, on standby or failed", words.Count(len(s.c.Hosts), "host")),
		Do: "end the maintenance or repair one"}}
}

// overReserved finds hosts whose reservations exceed their capacity.
func overReserved(s indexedCluster) []Warning {
	var says, names []string
	for h := range s.c.Hosts {
		id := cluster.HostID(h)
		needs, has := s.l.Reserved(id), s.x.Capacity(id)
		if needs.Fits(has) || !s.c.Hosts[h].Runs() {
			continue
		}
		names = append(names, s.c.Hosts[h].Name)
		says = append(says, fmt.Sprintf("VMs on %s reserve %d MHz and %s, but it has %d MHz and %s", s.c.Hosts[h].Name, needs.CPU, cluster.MiB(needs.Memory), has.CPU, cluster.MiB(has.Memory)))
	}
	return gathered(says, Warning{Kind: "host reservation", Hosts: names, Do: "move VMs with reservations off it, as a round does where there is room, or lower reservations"})
}

// spareHosts finds a cluster whose reservations do not fit after the host failures to
// tolerate.
func spareHosts(s indexedCluster) []Warning {
	n := s.c.Settings.SpareHosts
	if n == 0 {
		return nil
	}
	var cpu, memory []int64
	var needs, left cluster.Resources
	for h := range s.c.Hosts {
		id := cluster.HostID(h)
		needs = needs.Plus(s.l.Reserved(id))
		if s.c.Hosts[h].Usable() {
			cpu, memory = append(cpu, s.x.Capacity(id).CPU), append(memory, s.x.Capacity(id).Memory)
		}
	}
	slices.Sort(cpu)
	slices.Sort(memory)
	for i := range max(0, len(cpu)-n) {
		left = left.Plus(cluster.Resources{CPU: cpu[i], Memory: memory[i]})
	}
	if needs.Fits(left) {
		return nil
	}
	return []Warning{{Kind: "spare hosts", Text: fmt.Sprintf("%d MHz and %s are reserved; with %s failed, %d MHz and %s are left: not every VM could restart",
		needs.CPU, cluster.MiB(needs.Memory), words.Count(n, "host"), left.CPU, cluster.MiB(left.Memory)),
		Do: "add a host, lower reservations, or set spare-hosts to what you can afford"}}
}

// swapping finds hosts whose VMs use more memory than they have.
func swapping(s indexedCluster) []Warning {
	var says, names []string
	active := make([]int64, len(s.c.Hosts))
	for i := range s.c.VMs {
		if vm := &s.c.VMs[i]; s.runs(i) && vm.Demand.Active.Count > 0 {
			active[vm.Host] += min(int64(vm.Demand.Active.Recent), vm.Memory) + vm.Overhead
		}
	}
	for h := range s.c.Hosts {
		has := s.x.Capacity(cluster.HostID(h)).Memory
		if active[h] <= has || !s.c.Hosts[h].Runs() {
			continue
		}
		names = append(names, s.c.Hosts[h].Name)
		says = append(says, fmt.Sprintf("VMs on %s use %s of memory, but it has %s: %s are swapped, or will be", s.c.Hosts[h].Name, cluster.MiB(active[h]), cluster.MiB(has), cluster.MiB(active[h]-has)))
	}
	return gathered(says, Warning{Kind: "swapping", Hosts: names, Do: "move VMs off it at once; swapping slows a VM by orders of magnitude"})
}

// homeless finds VMs that no usable host could run even if it were empty.
func homeless(s indexedCluster) (out []Warning) {
	if unusable(s) != nil {
		return nil
	}
	bare := *s.c
	bare.VMs = slices.Clone(s.c.VMs)
	for v := range bare.VMs {
		bare.VMs[v].Host = cluster.Nowhere
	}
	empty := cluster.NewLayout(&bare, s.x)
	byText := map[string][]string{}
	var texts []string
	for v := range bare.VMs {
		text := noHome(&bare, empty, cluster.VMID(v))
		if text == "" {
			continue
		}
		if byText[text] == nil {
			texts = append(texts, text)
		}
		byText[text] = append(byText[text], bare.VMs[v].Name)
	}
	for _, text := range texts {
		out = append(out, Warning{Kind: "no host for it", VMs: byText[text], Text: fmt.Sprintf("no host could run %s, even if it were empty: %s", words.Named(byText[text]), text),
			Do: "make them smaller, change the rule, or add a host that can run them"})
	}
	return out
}

// noHome lists the obstacles of a VM on all hosts, grouped; empty if a host can run it.
func noHome(c *cluster.Cluster, empty *cluster.Layout, v cluster.VMID) string {
	hosts := map[string][]string{}
	var order []string
	for h := range c.Hosts {
		id := cluster.HostID(h)
		o := empty.Obstacle(v, id)
		if o.Check == cluster.Fine {
			return ""
		}
		text := o.Text(c, id)
		if hosts[text] == nil {
			order = append(order, text)
		}
		hosts[text] = append(hosts[text], c.Hosts[h].Name)
	}
	var says []string
	for _, text := range order {
		says = append(says, fmt.Sprintf("%s: %s", words.Named(hosts[text]), text))
	}
	return words.Several(says)
}
