package policy

import "fmt"

// Checker holds the status of every object of an inventory, and updates it incrementally: a
// change judges again only objects whose status may depend on it. One goroutine may use it at
// a time.
type Checker struct {
	catalog catalog

	vms  []vm
	free []int32 // indexes of removed VMs

	objects  tally
	byVM     tally // VMs, by their worst object
	byPolicy []tally
}

type vm struct {
	name    string
	status  Status
	objects []object // the home first; none if the VM was removed
}

type object struct {
	name    string
	applied int64
	store   int32
	pair    int32
	at      int32 // in the list of its pair
	status  Status
}

// New validates and checks an inventory, which it does not keep.
func New(inv *Inventory) (*Checker, error) {
	known, err := inv.check()
	if err != nil {
		return nil, fmt.Errorf("check storage policies: %w", err)
	}
	c := &Checker{catalog: newCatalog(inv, known), vms: make([]vm, len(inv.VMs))}
	count := len(inv.VMs)
	for i := range inv.VMs {
		count += len(inv.VMs[i].Disks)
	}
	slab := make([]object, 0, count)
	for i := range inv.VMs {
		begin := len(slab)
		slab = c.appendObjects(slab, &inv.VMs[i])
		c.vms[i] = vm{name: inv.VMs[i].Name, objects: slab[begin:len(slab):len(slab)]}
		c.enter(int32(i))
	}
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
		made.store = c.catalog.storeOf(o.Datastore)
	}
	if o.Policy != "" {
		made.pair = c.catalog.pairFor(c.catalog.policyOf(o.Policy), made.store)
	}
	made.status = c.catalog.judge(&made)
	return made
}

// enter adds the objects of a VM to the lists of their pairs, and counts statuses.
func (c *Checker) enter(id int32) {
	m := &c.vms[id]
	m.status = NotApplicable
	for i := range m.objects {
		o := &m.objects[i]
		m.status = max(m.status, o.status)
		if o.pair != nowhere {
			p := &c.catalog.pairs[o.pair]
			o.at = int32(len(p.objects))
			p.objects = append(p.objects, objectIndex{id, int32(i)})
		}
	}
	c.count(m, 1)
}

// leave is the inverse of enter.
func (c *Checker) leave(id int32) {
	m := &c.vms[id]
	c.count(m, -1)
	for i := range m.objects {
		o := &m.objects[i]
		if o.pair == nowhere {
			continue
		}
		p := &c.catalog.pairs[o.pair]
		last := p.objects[len(p.objects)-1]
		p.objects[o.at] = last
		c.vms[last.vm].objects[last.object].at = o.at
		p.objects = p.objects[:len(p.objects)-1]
	}
}

func (c *Checker) count(m *vm, sign int) {
	for len(c.byPolicy) < len(c.catalog.demands) {
		c.byPolicy = append(c.byPolicy, tally{})
	}
	c.byVM[m.status] += sign
	for i := range m.objects {
		o := &m.objects[i]
		c.objects[o.status] += sign
		if o.pair != nowhere {
			c.byPolicy[c.catalog.pairs[o.pair].policy][o.status] += sign
		}
	}
}
