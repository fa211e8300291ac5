package snapshot

import (
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/document"
)

// PolicyKeys are the keys of a file that Policies reads.
var PolicyKeys = []string{"settings", "groups", "rules"}

// Policies reads the settings, groups and rules of a file of another kind into a cluster with
// known hosts and VMs. A rule may name VMs that the cluster lacks, as VMs come and go. Rules
// without remaining VMs or hosts are dropped.
func Policies(in *document.File, root *document.Node, c *cluster.Cluster) {
	r := newReader(in.Name, limits{mostHosts, mostVMs, mostPools, mostRules})
	r.in, r.c, r.vms.Absent = in, c, true
	for i := range c.Hosts {
		r.hosts.Add(c.Hosts[i].Name, 0)
	}
	for i := range c.VMs {
		r.vms.Add(c.VMs[i].Name, 0)
	}
	r.settings(root)
	if s := root.Find("settings"); s != nil && c.Settings.SpareHosts > 0 && c.Settings.SpareHosts >= len(c.Hosts) {
		in.Complain(s.Find("spare-hosts"), "spare-hosts is %d, but there are only %d hosts", c.Settings.SpareHosts, len(c.Hosts))
	}
	if n := root.Find("groups"); n != nil && in.Table(n, "groups", []string{"hosts", "vms"}) {
		r.hosts.Group(in, n.Find("hosts"))
		r.vms.Group(in, n.Find("vms"))
	}
	c.Rules = nil
	r.allRules(root.Find("rules"))
	c.Rules = slices.DeleteFunc(c.Rules, func(x cluster.Rule) bool {
		return len(x.VMs) == 0 || x.OfHosts() && len(x.Hosts) == 0
	})
}

// DefaultRoot is the pool of a cluster without pools.
func DefaultRoot() cluster.Pool { return defaultRoot() }
