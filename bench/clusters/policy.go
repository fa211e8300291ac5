package clusters

import (
	"fmt"
	"math/rand/v2"
	"runtime"

	"plimsoll/bench/measured"
	"plimsoll/internal/cluster/policy"
)

// The inventory of the policy benchmark, besides its VMs of two disks.
const (
	policies   = 20
	datastores = 50
)

// inventories are the sizes of the policy check: 25,000 VMs first.
var inventories = []size{
	{name: "25,000 VMs", vms: 25_000, times: 1}, {name: "6,250 VMs", vms: 6250, times: .25},
	{name: "100,000 VMs", vms: 100_000, times: 4}, {name: "250,000 VMs", vms: 250_000, times: 10},
}

// Complying is the time to check VMs against their storage policies, and to report.
func Complying() ([]measured.Result, error) {
	return grow(inventories, func(s size) ([]timing, error) {
		inv := inventory(s.vms)
		var c *policy.Checker
		runtime.GC()
		checked, err := measured.Median(passes, func() (err error) {
			c, err = policy.New(inv)
			return err
		})
		if err != nil {
			return nil, err
		}
		reported, err := measured.Median(passes, func() error {
			c.Report()
			return nil
		})
		if err != nil {
			return nil, err
		}
		const changes = 1000
		changed, err := measured.Median(passes, func() (err error) {
			for i := 0; i < changes && err == nil; i++ {
				_, err = c.SetVM(inv.VMs[i*7919%len(inv.VMs)])
			}
			return err
		})
		return []timing{{"all validated and checked", checked, .1}, {"report", reported, .1}, {"a changed VM", changed / changes, .0001}}, err
	})
}

// inventory is one in which each policy asks two things of a datastore.
func inventory(vms int) *policy.Inventory {
	r := rand.New(rand.NewPCG(1, 2))
	number := func(n int64) *int64 { return &n }
	inv := &policy.Inventory{}
	tiers := []string{"gold", "silver", "bronze"}
	for i := range datastores {
		inv.Datastores = append(inv.Datastores, policy.Datastore{
			Name: fmt.Sprintf("store-%d", i), Generation: 1, Tags: map[string][]string{"tier": {tiers[i%3]}},
			Capabilities: []policy.Capability{{Name: "store.failures", Value: policy.Value{From: number(0), To: number(int64(i % 4))}}, {Name: "store.latency", Value: policy.Value{Number: number(int64(i % 10))}}},
		})
	}
	for i := range policies {
		inv.Policies = append(inv.Policies, policy.Policy{Name: fmt.Sprintf("policy-%d", i), Generation: 1, Sets: []policy.RuleSet{
			{Rules: []policy.Rule{{Capability: "store.failures", Is: policy.Equals, Value: policy.Value{Number: number(int64(i % 3))}}, {Capability: "tag.tier", Is: policy.OneOf, Value: policy.Value{Set: tiers[:1+i%3]}}}},
			{Rules: []policy.Rule{{Capability: "store.latency", Is: policy.Within, Value: policy.Value{To: number(int64(i % 5))}}}},
		}})
	}
	object := func(name string) policy.Object {
		return policy.Object{Name: name, Generation: 1, Datastore: inv.Datastores[r.IntN(datastores)].Name, Policy: inv.Policies[r.IntN(policies)].Name, Applied: 1}
	}
	for i := range vms {
		inv.VMs = append(inv.VMs, policy.VM{Name: fmt.Sprintf("vm-%d", i), Home: object(""), Disks: []policy.Object{object("scsi0:0"), object("scsi0:1")}})
	}
	return inv
}
