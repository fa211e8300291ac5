package policy

import (
	"errors"
	"fmt"
)

// Follow brings the checker to a newer inventory by comparing generations, and returns
// how many objects it had to judge again. What has the generation that it had is taken to
// be as it was, unseen. Machines may come and go; when policies or datastores do, all is
// checked afresh, on one core. When anything that changed is wrong, nothing is taken over.
func (c *Checker) Follow(inv *Inventory) (int, error) {
	if !c.sameNames(inv) {
		fresh, err := New(inv, 1)
		if err != nil {
			return 0, fmt.Errorf("follow a change of policies or datastores: %w", err)
		}
		*c = *fresh
		n := c.objects.counts()
		return n.All(), nil
	}
	todo, err := c.compare(inv)
	if err != nil {
		return 0, fmt.Errorf("follow a change: %w", err)
	}
	judged := 0
	for _, i := range todo.policies {
		judged += c.putPolicy(c.known.policies[inv.Policies[i].Name], &inv.Policies[i])
	}
	for _, i := range todo.stores {
		judged += c.putStore(c.known.stores[inv.Datastores[i].Name], &inv.Datastores[i])
	}
	for _, id := range todo.gone {
		c.drop(id)
	}
	for _, i := range todo.vms {
		v := &inv.VMs[i]
		judged += c.putVM(c.find(v.Name, i), v)
	}
	return judged, nil
}

// sameNames says whether an inventory has the policies and datastores that are known,
// each once.
func (c *Checker) sameNames(inv *Inventory) bool {
	if len(inv.Policies) != len(c.demands) || len(inv.Datastores) != len(c.offers) {
		return false
	}
	policies, stores := make([]bool, len(c.demands)), make([]bool, len(c.offers))
	for i := range inv.Policies {
		id, found := c.known.policies[inv.Policies[i].Name]
		if !found || c.demands[id].absent || policies[id] {
			return false
		}
		policies[id] = true
	}
	for i := range inv.Datastores {
		id, found := c.known.stores[inv.Datastores[i].Name]
		if !found || c.offers[id].absent || stores[id] {
			return false
		}
		stores[id] = true
	}
	return true
}

// difference is what changed: places in the lists of an inventory, and of machines that
// are gone, in those of the checker.
type difference struct {
	policies, stores, vms []int
	gone                  []int32
}

func (c *Checker) compare(inv *Inventory) (difference, error) {
	var d difference
	var problems []error
	for i := range inv.Policies {
		p := &inv.Policies[i]
		if c.demands[c.known.policies[p.Name]].generation != p.Generation {
			_, _, err := c.policyChange(p)
			problems = append(problems, err)
			d.policies = append(d.policies, i)
		}
	}
	for i := range inv.Datastores {
		s := &inv.Datastores[i]
		if c.offers[c.known.stores[s.Name]].generation != s.Generation {
			_, _, err := c.storeChange(s)
			problems = append(problems, err)
			d.stores = append(d.stores, i)
		}
	}
	problems = append(problems, c.compareVMs(inv, &d))
	return d, errors.Join(problems...)
}

func (c *Checker) compareVMs(inv *Inventory, d *difference) error {
	var all complaints
	seen := make([]bool, len(c.machines))
	fresh := map[string]int32{}
	for i := range inv.VMs {
		v := &inv.VMs[i]
		id := c.find(v.Name, i)
		switch {
		case id == nowhere:
			all.at("vms", i, v.Name)
			all.unique(fresh)
		case seen[id]:
			all.at("vms", i, v.Name)
			all.add("the name is there twice: give each its own")
		default:
			seen[id] = true
			if c.sameObjects(id, v) {
				continue
			}
		}
		d.vms = append(d.vms, i)
		if len(all.list) < mostComplaints {
			if err := c.vmProblem(id, v); err != nil {
				all.list = append(all.list, err)
			}
		}
	}
	for id := range seen {
		if !seen[id] && c.machines[id].objects != nil {
			d.gone = append(d.gone, int32(id))
		}
	}
	return all.err()
}
