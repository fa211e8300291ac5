package inventory

import (
	"cmp"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
)

// settings are those of DRS and of HA's admission control.
func settings(c *types.ClusterConfigInfoEx) cluster.Settings {
	s := cluster.DefaultSettings()
	drs, das := &c.DrsConfig, &c.DasConfig
	// The API counts the rate from the most moves, the user interface and the model from the
	// fewest.
	if rate := int(drs.VmotionRate); rate >= 1 && rate <= 5 {
		s.Level = 6 - rate
	}
	s.ScalablePool = drs.ScaleDescendantsShares == string(types.ResourceConfigSpecScaleSharesBehaviorScaleCpuAndMemoryShares)
	for _, o := range drs.Option {
		if v := o.GetOptionValue(); strings.EqualFold(v.Key, "PercentIdleMBInMemDemand") {
			text, _ := v.Value.(string)
			s.Consumed = text == "100"
		}
	}
	if yes(das.Enabled) && yes(das.AdmissionControlEnabled) {
		s.SpareHosts = int(max(0, das.FailoverLevel))
		switch p := das.AdmissionControlPolicy.(type) {
		case *types.ClusterFailoverLevelAdmissionControlPolicy:
			s.SpareHosts = int(max(0, p.FailoverLevel))
		case *types.ClusterFailoverResourcesAdmissionControlPolicy:
			s.SpareHosts = int(max(0, p.FailoverLevel))
		case *types.ClusterFailoverHostAdmissionControlPolicy:
			s.SpareHosts = int(max(0, p.FailoverLevel))
		}
	}
	return s
}

// pinned are the VMs for which an override switches DRS off.
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
			parent = m.pools[list[i].parent] // of a second top, which a vCenter has not, the first
		}
		m.pools[list[i].ref] = cluster.PoolID(len(m.state.Pools))
		m.state.Pools = append(m.state.Pools, m.pool(list[i], names[i], parent))
	}
	if len(m.state.Pools) == 0 {
		m.state.Pools = []cluster.Pool{m.pool(&pool{}, "Resources", cluster.Nowhere)}
	}
}

func (m *model) pool(p *pool, name string, parent cluster.PoolID) cluster.Pool {
	out := cluster.Pool{
		Name: name, Parent: parent,
		CPU: allocation(p.config.CpuAllocation, 1), Mem: allocation(p.config.MemoryAllocation, mib),
		Level:    level(p.config.CpuAllocation.Shares),
		Scalable: p.config.ScaleDescendantsShares == string(types.ResourceConfigSpecScaleSharesBehaviorScaleCpuAndMemoryShares),
	}
	if level(p.config.MemoryAllocation.Shares) != out.Level {
		out.Level = cluster.ShareCustom
	}
	normal := cmp.Or(out.Level.Factor(), cluster.ShareNormal.Factor())
	cpu, mem := cluster.PoolShares(cluster.ShareLow)
	out.CPU.Shares, out.Mem.Shares = cmp.Or(out.CPU.Shares, cpu*normal), cmp.Or(out.Mem.Shares, mem*normal)
	if parent == cluster.Nowhere { // the whole cluster, which nobody limits
		out.CPU.Limit, out.Mem.Limit = cluster.Unlimited, cluster.Unlimited
		out.CPU.Reservation, out.Mem.Reservation = 0, 0
		out.CPU.Expandable, out.Mem.Expandable = true, true
	}
	return out
}

// rules are those of the cluster that concern VMs of it.
func (m *model) rules(c *types.ClusterConfigInfoEx) (out []cluster.Rule) {
	vms, hosts := map[string][]cluster.VMID{}, map[string][]cluster.HostID{}
	for _, g := range c.Group {
		switch g := g.(type) {
		case *types.ClusterVmGroup:
			vms[g.Name] = found(g.Vm, m.vms)
		case *types.ClusterHostGroup:
			hosts[g.Name] = found(g.Host, m.hosts)
		}
	}
	for _, r := range c.Rule {
		info := r.GetClusterRuleInfo()
		rule := cluster.Rule{Name: info.Name, Must: yes(info.Mandatory), Disabled: !yes(info.Enabled)}
		switch r := r.(type) {
		case *types.ClusterAffinityRuleSpec:
			rule.Kind, rule.VMs = cluster.Together, found(r.Vm, m.vms)
		case *types.ClusterAntiAffinityRuleSpec:
			rule.Kind, rule.VMs = cluster.Apart, found(r.Vm, m.vms)
		case *types.ClusterVmHostRuleInfo:
			rule.VMs = vms[r.VmGroupName]
			rule.Kind, rule.Hosts = cluster.OnHosts, hosts[r.AffineHostGroupName]
			if r.AntiAffineHostGroupName != "" {
				rule.Kind, rule.Hosts = cluster.OffHosts, hosts[r.AntiAffineHostGroupName]
			}
		default: // rules on other resources, such as dependencies of restarts
			continue
		}
		if len(rule.VMs) == 0 || rule.OfHosts() && len(rule.Hosts) == 0 || !rule.OfHosts() && len(rule.VMs) < 2 {
			continue
		}
		out = append(out, rule)
	}
	slices.SortStableFunc(out, func(a, b cluster.Rule) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func found[ID cmp.Ordered](refs []reference, index map[reference]ID) (out []ID) {
	for _, r := range refs {
		if at, has := index[r]; has {
			out = append(out, at)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func yes(b *bool) bool { return b != nil && *b }
