package policy

import (
	"reflect"
)

// The changes check what they are given, change nothing when it is wrong, and return how
// many objects they had to judge again. A generation that is the known one means that
// nothing changed; that it comes with another content is an error.

// SetPolicy takes a policy as it is now.
func (c *Checker) SetPolicy(p Policy) (int, error) {
	id, changed, err := c.policyChange(&p)
	if err != nil || !changed {
		return 0, err
	}
	return c.putPolicy(id, &p), nil
}

func (c *Checker) policyChange(p *Policy) (id int32, changed bool, err error) {
	var all complaints
	all.at("policy", nowhere, p.Name)
	all.policy(p)
	id, found := c.known.policies[p.Name]
	if !found && p.Name != "" {
		all.add("it is not known%s: a list with a new policy is to be followed as a whole", nearest(p.Name, c.known.policies))
	}
	if err := all.err(); err != nil || !found {
		return 0, false, err
	}
	if c.demands[id].generation == p.Generation && !c.demands[id].absent {
		if d := c.demand(p); !reflect.DeepEqual(c.demands[id], d) {
			all.add("it changed, and its generation is still %d: raise it", p.Generation)
		}
		return id, false, all.err()
	}
	return id, true, nil
}

func (c *Checker) putPolicy(id int32, p *Policy) int {
	c.demands[id] = c.demand(p)
	judged := 0
	for _, pair := range c.ofPolicy[id] {
		c.pairs[pair].status = c.weigh(id, c.pairs[pair].store)
		judged += c.judgePair(pair)
	}
	return judged
}

// SetDatastore takes a datastore as it is now. Objects are judged again only where the
// change turned the verdict on their policy.
func (c *Checker) SetDatastore(d Datastore) (int, error) {
	id, changed, err := c.storeChange(&d)
	if err != nil || !changed {
		return 0, err
	}
	return c.putStore(id, &d), nil
}

func (c *Checker) storeChange(d *Datastore) (id int32, changed bool, err error) {
	var all complaints
	all.at("datastore", nowhere, d.Name)
	all.datastore(d)
	id, found := c.known.stores[d.Name]
	if !found && d.Name != "" {
		all.add("it is not known%s: a list with a new datastore is to be followed as a whole", nearest(d.Name, c.known.stores))
	}
	if err := all.err(); err != nil || !found {
		return 0, false, err
	}
	if c.offers[id].generation == d.Generation && !c.offers[id].absent {
		if o := newOffer(d); !reflect.DeepEqual(c.offers[id], o) {
			all.add("it changed, and its generation is still %d: raise it", d.Generation)
		}
		return id, false, all.err()
	}
	return id, true, nil
}

func (c *Checker) putStore(id int32, d *Datastore) int {
	old := c.offers[id]
	c.offers[id] = newOffer(d)
	judged := c.replaced(&old, &c.offers[id])
	for _, pair := range c.ofStore[id] {
		judged += c.reweigh(pair)
	}
	return judged
}

// judgePair judges the objects of a pair again.
func (c *Checker) judgePair(id int32) int {
	p := &c.pairs[id]
	for _, at := range p.objects {
		m := &c.machines[at.vm]
		o := &m.objects[at.object]
		was := o.status
		o.status = c.judge(o)
		if o.status == was {
			continue
		}
		c.objects[was]--
		c.objects[o.status]++
		c.byPolicy[p.policy][was]--
		c.byPolicy[p.policy][o.status]++
		c.rollUp(m)
	}
	return len(p.objects)
}

// rollUp gives a machine the worst status of its objects.
func (c *Checker) rollUp(m *machine) {
	c.vms[m.status]--
	m.status = NotApplicable
	for i := range m.objects {
		m.status = max(m.status, m.objects[i].status)
	}
	c.vms[m.status]++
}
