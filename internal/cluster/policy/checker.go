package policy

import (
	"fmt"
	"sync"
)

// Checker knows the status of every object of an inventory.
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

// New validates an inventory, which it does not keep, and checks all of it on as many
// cores as there are workers. The number of workers changes nothing but the time.
func New(inv *Inventory, workers int) (*Checker, error) {
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
		slab = c.appendObjects(slab, v)
		end := len(slab)
		c.vms[i] = vm{name: v.Name, objects: slab[begin:end:end]}
		c.attach(int32(i))
	}
	c.checkAll(workers)
	return c, nil
}

// appendObjects adds the objects of a VM.
func (c *Checker) appendObjects(list []object, v *VM) []object {
	list = append(list, c.newObject(&v.Home))
	for i := range v.Disks {
		list = append(list, c.newObject(&v.Disks[i]))
	}
	return list
}

func (c *Checker) newObject(o *Object) object {
	made := object{name: o.Name, applied: o.Applied, store: nowhere, pair: nowhere}
	if o.Datastore != "" {
		made.store = c.storeOf(o.Datastore)
	}
	if o.Policy != "" {
		made.pair = c.pairFor(c.policyOf(o.Policy), made.store)
	}
	return made
}

func (c *Checker) pairFor(policy, store int32) int32 {
	key := [2]int32{policy, store}
	id, found := c.pairOf[key]
	if !found {
		id = int32(len(c.pairs))
		c.pairOf[key] = id
		c.pairs = append(c.pairs, pair{policy: policy, store: store, status: c.weigh(policy, store)})
	}
	return id
}

func (c *Checker) weigh(policy, store int32) Status {
	if store == nowhere {
		return c.demands[policy].weigh(nil)
	}
	return c.demands[policy].weigh(&c.offers[store])
}

// attach lists the objects of a VM under their pairs.
func (c *Checker) attach(vm int32) {
	for i := range c.vms[vm].objects {
		if o := &c.vms[vm].objects[i]; o.pair != nowhere {
			p := &c.pairs[o.pair]
			p.objects = append(p.objects, place{vm, int32(i)})
		}
	}
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

// checkAll weighs all rules and judges every object afresh, on as many cores as there are
// workers.
func (c *Checker) checkAll(workers int) {
	split(len(c.pairs), workers, func(_, from, to int) {
		for i := from; i < to; i++ {
			c.pairs[i].status = c.weigh(c.pairs[i].policy, c.pairs[i].store)
		}
	})
	workers = max(1, min(workers, len(c.vms)))
	sums := make([]sums, workers)
	split(len(c.vms), workers, func(w, from, to int) {
		sums[w] = c.judgeAll(from, to)
	})
	c.objects, c.byVM = tally{}, tally{}
	clear(c.byPolicy)
	for w := range sums {
		c.objects.add(&sums[w].objects)
		c.byVM.add(&sums[w].vms)
		for p := range sums[w].byPolicy {
			c.byPolicy[p].add(&sums[w].byPolicy[p])
		}
	}
}

// sums is what one worker counted.
type sums struct {
	objects, vms tally
	byPolicy     []tally
}

func (c *Checker) judgeAll(from, to int) sums {
	s := sums{byPolicy: make([]tally, len(c.byPolicy))}
	for i := from; i < to; i++ {
		m := &c.vms[i]
		m.status = NotApplicable
		for k := range m.objects {
			o := &m.objects[k]
			o.status = c.judge(o)
			s.objects[o.status]++
			if o.pair != nowhere {
				s.byPolicy[c.pairs[o.pair].policy][o.status]++
			}
			m.status = max(m.status, o.status)
		}
		s.vms[m.status]++
	}
	return s
}

// split has workers do equal parts of n, and waits for them. It passes each its number.
func split(n, workers int, do func(worker, from, to int)) {
	workers = max(1, min(workers, n))
	var wait sync.WaitGroup
	for w := 1; w < workers; w++ {
		wait.Go(func() { do(w, w*n/workers, (w+1)*n/workers) })
	}
	do(0, 0, n/workers)
	wait.Wait()
}
