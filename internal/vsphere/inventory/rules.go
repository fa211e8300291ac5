package inventory

import (
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
	"plimsoll/internal/vsphere/config"
)

// pinned are the VMs with an override that disables DRS.
func pinned(c *types.ClusterConfigInfoEx) map[reference]bool {
	out := map[reference]bool{}
	for _, o := range c.DrsVmConfig {
		if o.Enabled != nil && !*o.Enabled {
			out[o.Key] = true
		}
	}
	return out
}

// buildPools lists the pools, parents first.
func (m *model) buildPools(pools map[reference]*pool) {
	m.pools = make(map[reference]cluster.PoolID, len(pools))
	list := sorted(pools, func(p *pool) string { return p.name })
	names := unique(list, func(p *pool) (string, reference) { return p.name, p.ref })
	below := map[reference][]int{}
	var tops []int
	for i, p := range list {
		if pools[p.parent] == nil {
			tops = append(tops, i)
			continue
		}
		below[p.parent] = append(below[p.parent], i)
	}
	for next := tops; len(next) > 0; {
		i := next[0]
		next = append(next[1:], below[list[i].ref]...)
		parent := cluster.PoolID(cluster.Nowhere)
		if len(m.state.Pools) > 0 {
			parent = m.pools[list[i].parent] // of a second root, which a vCenter does not have, the first
		}
		m.pools[list[i].ref] = cluster.PoolID(len(m.state.Pools))
		m.state.Pools = append(m.state.Pools, config.Pool(&list[i].config, names[i], parent))
	}
	if len(m.state.Pools) == 0 {
		m.state.Pools = []cluster.Pool{config.Pool(&types.ResourceConfigSpec{}, "Resources", cluster.Nowhere)}
	}
}

// rules are the rules for VMs of the cluster, by name.
func (m *model) rules(c *types.ClusterConfigInfoEx) []cluster.Rule {
	out := config.Rules(c, m.vms, m.hosts)
	slices.SortStableFunc(out, func(a, b cluster.Rule) int { return strings.Compare(a.Name, b.Name) })
	return out
}
