package config

import (
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
)

// Settings are those of DRS and of HA's admission control, for a number of hosts.
func Settings(c *types.ClusterConfigInfoEx, hosts int) cluster.Settings {
	s := cluster.DefaultSettings()
	drs, das := &c.DrsConfig, &c.DasConfig
	// The API counts the rate from the most aggressive level, the user interface and the model
	// from the most conservative.
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
	if Yes(das.Enabled) && Yes(das.AdmissionControlEnabled) {
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

// Rules are the rules of a cluster that concern VMs and hosts with an index, in the order of the
// vCenter.
func Rules(c *types.ClusterConfigInfoEx, vmIDs map[reference]cluster.VMID, hostIDs map[reference]cluster.HostID) (out []cluster.Rule) {
	vms, hosts := map[string][]cluster.VMID{}, map[string][]cluster.HostID{}
	for _, g := range c.Group {
		switch g := g.(type) {
		case *types.ClusterVmGroup:
			vms[g.Name] = Indexes(g.Vm, vmIDs)
		case *types.ClusterHostGroup:
			hosts[g.Name] = Indexes(g.Host, hostIDs)
		}
	}
	for _, r := range c.Rule {
		info := r.GetClusterRuleInfo()
		rule := cluster.Rule{Name: info.Name, Must: Yes(info.Mandatory), Disabled: !Yes(info.Enabled)}
		switch r := r.(type) {
		case *types.ClusterAffinityRuleSpec:
			rule.Kind, rule.VMs = cluster.Together, Indexes(r.Vm, vmIDs)
		case *types.ClusterAntiAffinityRuleSpec:
			rule.Kind, rule.VMs = cluster.Apart, Indexes(r.Vm, vmIDs)
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
	return out
}
