package generate

import (
	"fmt"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/policy"
)

// Storage generates storage policies for a cluster: each requires a tag and a number of
// failures to tolerate, or a latency. Datastores offer one, the other, both or nothing. Homes
// and disks of VMs get policies in turn, so that some comply and others do not.
func Storage(c *cluster.Cluster, policies int) *policy.Inventory {
	number := func(n int) *int64 { v := int64(n); return &v }
	tiers := []string{"gold", "silver", "bronze"}
	inv := &policy.Inventory{}
	for i, name := range c.Datastores {
		d := policy.Datastore{Name: name, Generation: 1, Tags: map[string][]string{"tier": {tiers[i%len(tiers)]}}}
		if i%2 == 0 {
			d.Capabilities = []policy.Capability{
				{Name: "store.failures", Value: policy.Value{From: number(0), To: number(i % 4)}}, {Name: "store.latency", Value: policy.Value{Number: number(i % 10)}},
			}
		}
		inv.Datastores = append(inv.Datastores, d)
	}
	for i := range policies {
		inv.Policies = append(inv.Policies, policy.Policy{Name: fmt.Sprintf("policy-%d", i+1), Generation: 1, Sets: []policy.RuleSet{
			{Rules: []policy.Rule{
				{Capability: "store.failures", Is: policy.Equals, Value: policy.Value{Number: number(i % 3)}},
				{Capability: "tag.tier", Is: policy.OneOf, Value: policy.Value{Set: tiers[:1+i%len(tiers)]}},
			}},
			{Rules: []policy.Rule{{Capability: "store.latency", Is: policy.Within, Value: policy.Value{To: number(i % 5)}}}},
		}})
	}
	for i := range c.VMs {
		if policies == 0 {
			break
		}
		object := func(name string, k int) policy.Object {
			p := &inv.Policies[(i+k)%policies]
			return policy.Object{Name: name, Policy: p.Name, Applied: p.Generation}
		}
		v := policy.VM{Name: c.VMs[i].Name, Home: object("", 0)}
		for k := range max(1, len(c.VMs[i].Datastores)) {
			v.Disks = append(v.Disks, object(fmt.Sprintf("scsi0:%d", k), k))
		}
		inv.VMs = append(inv.VMs, v)
	}
	return inv
}
