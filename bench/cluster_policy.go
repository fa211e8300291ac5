package main

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"plimsoll/internal/cluster/policy"
)

// The inventory of the policy benchmark, besides its machines of two disks.
const (
	policies   = 20
	datastores = 50
)

// inventories are the sizes of the policy check: twenty-five thousand machines first.
var inventories = []size{
	{name: "25,000 machines", vms: 25_000, times: 1}, {name: "6,250 machines", vms: 6250, times: .25},
	{name: "100,000 machines", vms: 100_000, times: 4}, {name: "250,000 machines", vms: 250_000, times: 10},
}

// complying is the time to check machines against their storage policies, and after one
// change.
func complying() ([]result, error) {
	return grow(inventories, func(s size) ([]timing, error) {
		inv := inventory(s.vms)
		var c *policy.Checker
		runtime.GC()
		read, err := median(passes, func() (err error) {
			c, err = policy.New(inv, 1)
			return err
		})
		if err != nil {
			return nil, err
		}
		full, err := median(passes, func() error { c.CheckAll(1); return nil })
		if err != nil {
			return nil, err
		}
		machine, err := changeMachines(c, inv)
		if err != nil {
			return nil, err
		}
		offered, err := changeDatastores(c, inv)
		if err != nil {
			return nil, err
		}
		found, err := followOne(c, inv)
		return []timing{
			{"all validated, indexed and checked", read, .1}, {"all checked again", full, .1},
			{"one machine changes, p50", quantile(machine, .5), .001}, {"one machine changes, p99", quantile(machine, .99), .001},
			{"one datastore changes, p50", quantile(offered, .5), .001}, {"a changed machine is found among all", found, .1},
		}, err
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

// changeMachines moves a disk of one machine after the other.
func changeMachines(c *policy.Checker, inv *policy.Inventory) ([]float64, error) {
	times := make([]float64, changed)
	for i := range times {
		v := inv.VMs[i*7919%len(inv.VMs)]
		v.Disks = slices.Clone(v.Disks)
		v.Disks[0].Generation = int64(2 + i)
		v.Disks[0].Datastore = inv.Datastores[i%datastores].Name
		begin := time.Now()
		if _, err := c.SetVM(v); err != nil {
			return nil, err
		}
		times[i] = time.Since(begin).Seconds()
	}
	return times, nil
}

// changeDatastores has a datastore lose all that it offers and get it back, so that
// objects on it are judged again.
func changeDatastores(c *policy.Checker, inv *policy.Inventory) ([]float64, error) {
	times := make([]float64, 20*stretches)
	for i := range times {
		d := inv.Datastores[1]
		if i%2 == 0 {
			d = policy.Datastore{Name: d.Name}
		}
		d.Generation = int64(2 + i)
		begin := time.Now()
		if _, err := c.SetDatastore(d); err != nil {
			return nil, err
		}
		times[i] = time.Since(begin).Seconds()
	}
	return times, nil
}

// followOne gives the checker a newer inventory, in which one machine differs.
func followOne(c *policy.Checker, inv *policy.Inventory) (float64, error) {
	if _, err := c.Follow(inv); err != nil {
		return 0, err
	}
	generation := int64(1 << 40)
	return median(passes, func() error {
		generation++
		inv.VMs[len(inv.VMs)/2].Home.Generation = generation
		judged, err := c.Follow(inv)
		if err == nil && judged != 3 {
			return fmt.Errorf("%d objects were judged, and three changed", judged)
		}
		return err
	})
}
