package inventory

import (
	"context"
	"strconv"

	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
)

// configure sets the cluster's configuration: DRS, admission control, rules and pinned VMs.
func (s *clusterBuilder) configure(context.Context) error {
	c := s.is.ConfigurationEx.(*types.ClusterConfigInfoEx)
	set := s.from.Settings
	c.DrsConfig = types.ClusterDrsConfigInfo{
		Enabled: types.NewBool(true), EnableVmBehaviorOverrides: types.NewBool(true), DefaultVmBehavior: types.DrsBehaviorManual,
		VmotionRate: int32(6 - min(max(set.Level, 1), 5)),
	}
	if set.ScalablePool {
		c.DrsConfig.ScaleDescendantsShares = string(types.ResourceConfigSpecScaleSharesBehaviorScaleCpuAndMemoryShares)
	}
	if set.Consumed {
		c.DrsConfig.Option = append(c.DrsConfig.Option, &types.OptionValue{Key: "PercentIdleMBInMemDemand", Value: "100"})
	}
	c.DasConfig.AdmissionControlEnabled = types.NewBool(set.SpareHosts > 0)
	c.DasConfig.AdmissionControlPolicy = &types.ClusterFailoverLevelAdmissionControlPolicy{FailoverLevel: int32(set.SpareHosts)}
	c.DasConfig.Enabled = types.NewBool(true)
	for i := range s.from.VMs {
		if s.from.VMs[i].Pinned {
			c.DrsVmConfig = append(c.DrsVmConfig, types.ClusterDrsVmConfigInfo{Key: s.vms[i], Enabled: types.NewBool(false)})
		}
	}
	for i := range s.from.Rules {
		s.rule(c, i, &s.from.Rules[i])
	}
	return nil
}

// rule adds a rule. Rules about hosts have a group of VMs and one of hosts.
func (s *clusterBuilder) rule(c *types.ClusterConfigInfoEx, i int, r *cluster.Rule) {
	var vms, hosts []types.ManagedObjectReference
	for _, v := range r.VMs {
		vms = append(vms, s.vms[v])
	}
	for _, h := range r.Hosts {
		hosts = append(hosts, s.hosts[h].Self)
	}
	info := types.ClusterRuleInfo{
		Key: int32(i + 1), Name: r.Name, RuleUuid: "rule-" + strconv.Itoa(i+1), Status: types.ManagedEntityStatusGreen,
		Enabled: types.NewBool(!r.Disabled), Mandatory: types.NewBool(r.Must), UserCreated: types.NewBool(true), InCompliance: types.NewBool(true),
	}
	switch r.Kind {
	case cluster.Together:
		c.Rule = append(c.Rule, &types.ClusterAffinityRuleSpec{ClusterRuleInfo: info, Vm: vms})
		return
	case cluster.Apart:
		c.Rule = append(c.Rule, &types.ClusterAntiAffinityRuleSpec{ClusterRuleInfo: info, Vm: vms})
		return
	}
	ofVMs, ofHosts := r.Name+" VMs", r.Name+" hosts"
	c.Group = append(c.Group,
		&types.ClusterVmGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: ofVMs}, Vm: vms},
		&types.ClusterHostGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: ofHosts}, Host: hosts})
	about := &types.ClusterVmHostRuleInfo{ClusterRuleInfo: info, VmGroupName: ofVMs}
	if r.Kind == cluster.OnHosts {
		about.AffineHostGroupName = ofHosts
	} else {
		about.AntiAffineHostGroupName = ofHosts
	}
	c.Rule = append(c.Rule, about)
}
