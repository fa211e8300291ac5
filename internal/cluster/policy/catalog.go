package policy

import "fmt"

// catalog holds policies and datastores, and the status of each pair of them that an object
// has.
type catalog struct {
	demands []demand // by index in the list of policies
	offers  []offer
	known   names          // indexes
	offered map[string]int // number of datastores with a capability, by its name

	pairs    []pair
	pairOf   map[[2]int32]int32 // by policy and datastore
	ofPolicy [][]int32          // pairs
	ofStore  [][]int32
}

// nowhere is the datastore of an object whose datastore is unknown, and the pair of an object
// without a policy.
const nowhere = -1

// pair is a policy and a datastore that some object has together. The status is that of an
// object with the current generation of the policy.
type pair struct {
	policy, store int32
	status        Status
	objects       []objectIndex
}

// objectIndex identifies an object: a VM and an index in its list.
type objectIndex struct{ vm, object int32 }

func newCatalog(inv *Inventory, known names) catalog {
	c := catalog{
		demands: make([]demand, len(inv.Policies)), offers: make([]offer, len(inv.Datastores)), known: known, offered: map[string]int{},
		pairOf: map[[2]int32]int32{}, ofPolicy: make([][]int32, len(inv.Policies)), ofStore: make([][]int32, len(inv.Datastores)),
	}
	for i := range inv.Datastores {
		c.offers[i] = newOffer(&inv.Datastores[i])
		for name := range c.offers[i].has {
			c.offered[name]++
		}
	}
	for i := range inv.Policies {
		c.demands[i] = c.demand(&inv.Policies[i])
	}
	return c
}

// storeOf is the index of a datastore. An unlisted datastore gets an index of its own: only
// its objects cannot be judged.
func (c *catalog) storeOf(name string) int32 {
	id, found := c.known.stores[name]
	if !found {
		id = int32(len(c.offers))
		c.offers, c.ofStore = append(c.offers, absentOffer(name)), append(c.ofStore, nil)
		c.known.stores[name] = id
	}
	return id
}

// policyOf is the index of a policy, likewise.
func (c *catalog) policyOf(name string) int32 {
	id, found := c.known.policies[name]
	if !found {
		id = int32(len(c.demands))
		c.demands, c.ofPolicy = append(c.demands, demand{name: name, absent: true}), append(c.ofPolicy, nil)
		c.known.policies[name] = id
	}
	return id
}

func (c *catalog) pairFor(policy, store int32) int32 {
	key := [2]int32{policy, store}
	id, found := c.pairOf[key]
	if !found {
		id = int32(len(c.pairs))
		c.pairOf[key] = id
		c.pairs = append(c.pairs, pair{policy: policy, store: store, status: c.weigh(policy, store)})
		c.ofPolicy[policy] = append(c.ofPolicy[policy], id)
		if store != nowhere {
			c.ofStore[store] = append(c.ofStore[store], id)
		}
	}
	return id
}

func (c *catalog) weigh(policy, store int32) Status {
	if store == nowhere {
		return c.demands[policy].weigh(nil)
	}
	return c.demands[policy].weigh(&c.offers[store])
}

// demand prepares a policy, and marks the rules on capabilities that no datastore has.
func (c *catalog) demand(p *Policy) demand {
	d := newDemand(p)
	c.mark(&d)
	return d
}

// mark reports whether it changed a mark.
func (c *catalog) mark(d *demand) (changed bool) {
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

// replaceOffer replaces a datastore, and returns the pairs whose status may change: its own,
// and those of policies with rules on capabilities that appear or disappear altogether.
func (c *catalog) replaceOffer(id int32, now offer) []int32 {
	turned := false
	for name := range now.has {
		c.offered[name]++
		turned = turned || c.offered[name] == 1
	}
	for name := range c.offers[id].has {
		c.offered[name]--
		turned = turned || c.offered[name] == 0
	}
	c.offers[id] = now
	pairs := append([]int32(nil), c.ofStore[id]...)
	if !turned {
		return pairs
	}
	for id := range c.demands {
		if c.mark(&c.demands[id]) {
			pairs = append(pairs, c.ofPolicy[id]...)
		}
	}
	return pairs
}

// judge is the status of an object by its pair.
func (c *catalog) judge(o *object) Status {
	if o.pair == nowhere {
		return NotApplicable
	}
	p := &c.pairs[o.pair]
	switch now := c.demands[p.policy].generation; {
	case c.demands[p.policy].absent:
		return Unknown
	case o.applied < now:
		return OutOfDate
	case o.applied > now:
		return Unknown
	}
	return p.status
}

// absentOffer is a datastore that is not listed.
func absentOffer(name string) offer { return offer{name: name, silent: true, absent: true} }

// unlisted is why an object with an unlisted name has no status.
func unlisted[V any](kind, name string, known map[string]V, absent func(V) bool) string {
	listed := map[string]bool{}
	for other, id := range known {
		if !absent(id) {
			listed[other] = true
		}
	}
	return fmt.Sprintf("the inventory lists no %s %q%s", kind, name, nearest(name, listed))
}
