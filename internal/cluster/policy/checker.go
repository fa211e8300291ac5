package policy

import "fmt"

// Checker holds the status of every object of an inventory.
type Checker struct {
	demands []demand // by index in the list of policies
	offers  []offer
	known   names           // indices
	offered map[string]bool // capabilities that a datastore has

	vms    []vm
	pairs  []pair
	pairOf map[[2]int32]int32 // by policy and datastore

	objects  tally
	byVM     tally // VMs, by their worst object
	byPolicy []tally
}

// nowhere is the datastore of an object of which it is not known, and the pair of one
// without a policy.
const nowhere = -1

// pair is a policy and a datastore that some object has together. The status is that of
// an object to which the policy was applied as it is now.
type pair struct {
	policy, store int32
	status        Status
	objects       []place
}

// place is an object: a VM and an index in its list.
type place struct{ vm, object int32 }

type vm struct {
	name    string
	status  Status
	objects []object // the home first
}

type object struct {
	name    string
	applied int64
	store   int32
	pair    int32
	status  Status
}

// New validates an inventory, which it does not keep, and checks all of it.
func New(inv *Inventory) (*Checker, error) {
	known, err := inv.check()
	if err != nil {
		return nil, fmt.Errorf("check storage policies: %w", err)
	}
	c := &Checker{
		demands: make([]demand, len(inv.Policies)), offers: make([]offer, len(inv.Datastores)), known: known,
		vms: make([]vm, len(inv.VMs)), pairOf: map[[2]int32]int32{}, offered: map[string]bool{}, byPolicy: make([]tally, len(inv.Policies)),
	}
	for i := range inv.Datastores {
		c.offers[i] = newOffer(&inv.Datastores[i])
		for name := range c.offers[i].has {
			c.offered[name] = true
		}
	}
	for i := range inv.Policies {
		c.demands[i] = c.demand(&inv.Policies[i])
	}
	count := len(inv.VMs)
	for i := range inv.VMs {
		count += len(inv.VMs[i].Disks)
	}
	slab := make([]object, 0, count)
	for i := range inv.VMs {
		v := &inv.VMs[i]
		begin := len(slab)
		slab = append(slab, c.newObject(&v.Home))
		for k := range v.Disks {
			slab = append(slab, c.newObject(&v.Disks[k]))
		}
		c.vms[i] = vm{name: v.Name, objects: slab[begin:len(slab):len(slab)]}
		c.enter(int32(i))
	}
	return c, nil
}

func (c *Checker) newObject(o *Object) object {
	made := object{name: o.Name, applied: o.Applied, store: nowhere, pair: nowhere}
	if o.Datastore != "" {
		made.store = c.storeOf(o.Datastore)
	}
	if o.Policy != "" {
		made.pair = c.pairFor(c.policyOf(o.Policy), made.store)
	}
	made.status = c.judge(&made)
	return made
}

func (c *Checker) pairFor(policy, store int32) int32 {
	key := [2]int32{policy, store}
	id, found := c.pairOf[key]
	if !found {
		var on *offer
		if store != nowhere {
			on = &c.offers[store]
		}
		id = int32(len(c.pairs))
		c.pairOf[key] = id
		c.pairs = append(c.pairs, pair{policy: policy, store: store, status: c.demands[policy].weigh(on)})
	}
	return id
}

// judge is the status of an object by its pair.
func (c *Checker) judge(o *object) Status {
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

// enter lists the objects of a VM under their pairs, and counts statuses.
func (c *Checker) enter(id int32) {
	m := &c.vms[id]
	m.status = NotApplicable
	for i := range m.objects {
		o := &m.objects[i]
		m.status = max(m.status, o.status)
		c.objects[o.status]++
		if o.pair != nowhere {
			p := &c.pairs[o.pair]
			p.objects = append(p.objects, place{id, int32(i)})
			c.byPolicy[p.policy][o.status]++
		}
	}
	c.byVM[m.status]++
}
