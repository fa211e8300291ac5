package book

import (
	"cmp"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
)

// indexes are the numbers of networks and of datastores.
type indexes map[reference]int32

// indexes numbers the networks and datastores of the hosts by name.
func (s *site) indexes(c *cluster.Cluster) indexes {
	refs := make([]reference, 0, len(s.names))
	for ref := range s.names {
		refs = append(refs, ref)
	}
	slices.SortFunc(refs, func(a, b reference) int {
		return cmp.Or(strings.Compare(s.names[a], s.names[b]), compareNames(a.Value, b.Value))
	})
	index := indexes{}
	for _, ref := range refs {
		list := &c.Networks
		if ref.Type == "Datastore" {
			list = &c.Datastores
		}
		index[ref] = int32(len(*list))
		*list = append(*list, s.names[ref])
	}
	return index
}

// of is the sorted indexes of objects. What no host has is left out.
func (x indexes) of(refs []reference) (out []int32) {
	for _, r := range refs {
		if at, known := x[r]; known {
			out = append(out, at)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// settings are those of DRS and of HA's admission control.
func settings(c *types.ClusterConfigInfoEx, hosts int) cluster.Settings {
	s := cluster.DefaultSettings()
	// The API counts the rate from the most moves, the model from the fewest.
	if rate := int(c.DrsConfig.VmotionRate); rate >= 1 && rate <= 5 {
		s.Level = 6 - rate
	}
	s.ScalablePool = c.DrsConfig.ScaleDescendantsShares == string(types.ResourceConfigSpecScaleSharesBehaviorScaleCpuAndMemoryShares)
	for _, o := range c.DrsConfig.Option {
		if v := o.GetOptionValue(); strings.EqualFold(v.Key, "PercentIdleMBInMemDemand") {
			text, _ := v.Value.(string)
			s.Consumed = text == "100"
		}
	}
	if das := &c.DasConfig; yes(das.Enabled) && yes(das.AdmissionControlEnabled) {
		s.SpareHosts = int(das.FailoverLevel)
		switch p := das.AdmissionControlPolicy.(type) {
		case *types.ClusterFailoverLevelAdmissionControlPolicy:
			s.SpareHosts = int(p.FailoverLevel)
		case *types.ClusterFailoverResourcesAdmissionControlPolicy:
			s.SpareHosts = int(p.FailoverLevel)
		case *types.ClusterFailoverHostAdmissionControlPolicy:
			s.SpareHosts = int(p.FailoverLevel)
		}
	}
	s.SpareHosts = max(0, min(s.SpareHosts, hosts-1))
	return s
}

// rules are those of a cluster that concern VMs of the view.
func rules(c *types.ClusterConfigInfoEx, v *View) (out []cluster.Rule) {
	vms, hosts := map[string][]cluster.VMID{}, map[string][]cluster.HostID{}
	for _, g := range c.Group {
		switch g := g.(type) {
		case *types.ClusterVmGroup:
			vms[g.Name] = numbers(g.Vm, v.vms)
		case *types.ClusterHostGroup:
			hosts[g.Name] = numbers(g.Host, v.hosts)
		}
	}
	for _, r := range c.Rule {
		info := r.GetClusterRuleInfo()
		rule := cluster.Rule{Name: info.Name, Must: yes(info.Mandatory), Disabled: !yes(info.Enabled)}
		switch r := r.(type) {
		case *types.ClusterAffinityRuleSpec:
			rule.Kind, rule.VMs = cluster.Together, numbers(r.Vm, v.vms)
		case *types.ClusterAntiAffinityRuleSpec:
			rule.Kind, rule.VMs = cluster.Apart, numbers(r.Vm, v.vms)
		case *types.ClusterVmHostRuleInfo:
			rule.VMs = vms[r.VmGroupName]
			rule.Kind, rule.Hosts = cluster.OnHosts, hosts[r.AffineHostGroupName]
			if r.AntiAffineHostGroupName != "" {
				rule.Kind, rule.Hosts = cluster.OffHosts, hosts[r.AntiAffineHostGroupName]
			}
		default: // rules on other things, such as the order of restarts
			continue
		}
		if len(rule.VMs) == 0 || rule.OfHosts() && len(rule.Hosts) == 0 || !rule.OfHosts() && len(rule.VMs) < 2 {
			continue
		}
		out = append(out, rule)
	}
	return out
}

func numbers[ID cmp.Ordered](refs []reference, index map[reference]ID) (out []ID) {
	for _, r := range refs {
		if at, has := index[r]; has {
			out = append(out, at)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
