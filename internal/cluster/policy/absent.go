package policy

import "fmt"

// storeOf is the place of a datastore. One that the inventory does not list gets a place of
// its own: nothing on it can be judged, and the rest can.
func (c *Checker) storeOf(name string) int32 {
	id, found := c.known.stores[name]
	if !found {
		id = int32(len(c.offers))
		c.offers = append(c.offers, offer{name: name, silent: true, absent: true})
		c.ofStore = append(c.ofStore, nil)
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
		c.ofPolicy, c.byPolicy = append(c.ofPolicy, nil), append(c.byPolicy, tally{})
		c.known.policies[name] = id
	}
	return id
}

// demand prepares a policy, and marks the rules on capabilities that no datastore has.
func (c *Checker) demand(p *Policy) demand {
	d := newDemand(p)
	c.mark(&d)
	return d
}

// mark says whether it changed a mark.
func (c *Checker) mark(d *demand) (changed bool) {
	for i := range d.sets {
		for k := range d.sets[i].rules {
			rule := &d.sets[i].rules[k]
			nowhere := c.offered[rule.capability] == 0
			changed = changed || nowhere != rule.nowhere
			rule.nowhere = nowhere
		}
	}
	return changed
}

// replaced counts what a datastore offers now in place of what it did, and judges again
// what rests on capabilities that are there for the first time, or no longer.
func (c *Checker) replaced(old, now *offer) (judged int) {
	turned := false
	for name := range now.has {
		c.offered[name]++
		turned = turned || c.offered[name] == 1
	}
	for name := range old.has {
		c.offered[name]--
		turned = turned || c.offered[name] == 0
	}
	if !turned {
		return 0
	}
	for id := range c.demands {
		if !c.mark(&c.demands[id]) {
			continue
		}
		for _, pair := range c.ofPolicy[id] {
			judged += c.reweigh(pair)
		}
	}
	return judged
}

// reweigh weighs a pair again, and judges its objects where the verdict turned.
func (c *Checker) reweigh(pair int32) int {
	p := &c.pairs[pair]
	status := c.weigh(p.policy, p.store)
	if status == p.status {
		return 0
	}
	p.status = status
	return c.judgePair(pair)
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
