package policy

import "fmt"

// storeOf is the place of a datastore. One that the inventory does not list gets a place of
// its own: nothing on it can be judged, and the rest can.
func (c *Checker) storeOf(name string) int32 {
	id, found := c.known.stores[name]
	if !found {
		id = int32(len(c.offers))
		c.offers = append(c.offers, offer{name: name, silent: true, absent: true})
		c.known.stores[name] = id
	}
	return id
}

// policyOf is the place of a policy, likewise.
func (c *Checker) policyOf(name string) int32 {
	id, found := c.known.policies[name]
	if !found {
		id = int32(len(c.demands))
		c.demands = append(c.demands, demand{name: name, absent: true})
		c.byPolicy = append(c.byPolicy, tally{})
		c.known.policies[name] = id
	}
	return id
}

// demand prepares a policy, and marks the rules on capabilities that no datastore has.
func (c *Checker) demand(p *Policy) demand {
	d := newDemand(p)
	for i := range d.sets {
		for k := range d.sets[i].rules {
			rule := &d.sets[i].rules[k]
			rule.nowhere = !c.offered[rule.capability]
		}
	}
	return d
}

// unlisted is why nothing is known of a name that objects have.
func unlisted[V any](kind, name string, known map[string]V, absent func(V) bool) string {
	listed := map[string]bool{}
	for other, id := range known {
		if !absent(id) {
			listed[other] = true
		}
	}
	return fmt.Sprintf("the inventory lists no %s %q%s", kind, name, nearest(name, listed))
}
