package place

import (
	"cmp"
	"slices"

	"plimsoll/internal/cluster"
)

// Group places several VMs and applies each choice to the layout, the hardest first: members
// of a rule that keeps VMs together are consecutive, otherwise larger reservations and demands
// come first. A VM without a host does not prevent others from starting. The choices are in
// the order in which they were made.
func (p *Placer) Group(vms []cluster.VMID) []Choice {
	order := slices.Clone(vms)
	lead := make(map[cluster.VMID]cluster.VMID, len(order))
	for _, v := range order {
		lead[v] = p.leader(v, order)
	}
	size := p.costs.index.Reserved
	harder := func(a, b cluster.VMID) int {
		return cmp.Or(
			cmp.Compare(size(b).Memory, size(a).Memory), cmp.Compare(size(b).CPU, size(a).CPU),
			cmp.Compare(p.c.VMs[b].Memory, p.c.VMs[a].Memory), cmp.Compare(p.c.VMs[b].VCPUs, p.c.VMs[a].VCPUs), cmp.Compare(a, b))
	}
	slices.SortFunc(order, func(a, b cluster.VMID) int {
		if lead[a] != lead[b] {
			return harder(lead[a], lead[b])
		}
		return harder(a, b)
	})
	choices := make([]Choice, 0, len(order))
	for len(order) > 0 {
		n := 1
		for n < len(order) && lead[order[n]] == lead[order[0]] {
			n++
		}
		choices = append(choices, p.unit(order[:n])...)
		order = order[n:]
	}
	return choices
}

// unit places VMs that stay together: on the best host that can run all of them, or else
// one by one.
func (p *Placer) unit(vms []cluster.VMID) []Choice {
	if len(vms) > 1 {
		for _, verdict := range p.Explain(vms[0]) {
			if verdict.Obstacle.Check != cluster.Fine {
				break
			}
			if choices, ok := p.all(vms, verdict.Host); ok {
				return choices
			}
		}
	}
	choices := make([]Choice, 0, len(vms))
	for _, v := range vms {
		c := p.Place(v)
		p.Take(c)
		choices = append(choices, c)
	}
	return choices
}

// all applies the placement of several VMs on one host, or of none.
func (p *Placer) all(vms []cluster.VMID, h cluster.HostID) (choices []Choice, ok bool) {
	for _, v := range vms {
		one := Choice{VM: v, Host: h}
		if p.Denied(v) != "" || p.layout.Obstacle(v, h).Check != cluster.Fine || p.strains(one) != "" {
			for _, c := range choices {
				p.layout.Move(c.VM, cluster.Nowhere)
				if p.pools != nil {
					p.pools.Drop(c.VM)
				}
			}
			return nil, false
		}
		one.Cost = p.costs.of(h, v)
		choices = append(choices, one)
		p.layout.Move(v, h)
		p.claim(v)
	}
	return choices, true
}

// leader is the first VM to place that a rule keeps together with v.
func (p *Placer) leader(v cluster.VMID, among []cluster.VMID) cluster.VMID {
	for _, r := range p.costs.index.Rules(v) {
		rule := &p.c.Rules[r]
		if rule.Kind != cluster.Together {
			continue
		}
		for _, other := range rule.VMs {
			if slices.Contains(among, other) {
				return other
			}
		}
	}
	return v
}
