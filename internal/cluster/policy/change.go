package policy

// Changes are validated and applied whole or not at all. They return the number of objects
// judged again.

// SetPolicy adds or replaces a policy.
func (c *Checker) SetPolicy(p Policy) (int, error) {
	all := complaints{kind: "policy", index: nowhere, name: p.Name}
	all.policy(&p)
	if err := all.err(); err != nil {
		return 0, err
	}
	return c.putDemand(c.catalog.policyOf(p.Name), c.catalog.demand(&p)), nil
}

// RemovePolicy removes a policy. Its objects become unknown.
func (c *Checker) RemovePolicy(name string) int {
	id, found := c.catalog.known.policies[name]
	if !found {
		return 0
	}
	return c.putDemand(id, demand{name: name, absent: true})
}

func (c *Checker) putDemand(id int32, d demand) (judged int) {
	c.catalog.demands[id] = d
	for _, pair := range c.catalog.ofPolicy[id] {
		c.catalog.pairs[pair].status = c.catalog.weigh(id, c.catalog.pairs[pair].store)
		judged += c.judgePair(pair)
	}
	return judged
}

// SetDatastore adds or replaces a datastore. Its objects are judged again only where the
// status of their pair changed.
func (c *Checker) SetDatastore(d Datastore) (int, error) {
	all := complaints{kind: "datastore", index: nowhere, name: d.Name}
	all.datastore(&d)
	if err := all.err(); err != nil {
		return 0, err
	}
	return c.putOffer(c.catalog.storeOf(d.Name), newOffer(&d)), nil
}

// RemoveDatastore removes a datastore. Its objects become unknown.
func (c *Checker) RemoveDatastore(name string) int {
	id, found := c.catalog.known.stores[name]
	if !found {
		return 0
	}
	return c.putOffer(id, absentOffer(name))
}

func (c *Checker) putOffer(id int32, now offer) (judged int) {
	for _, pair := range c.catalog.replaceOffer(id, now) {
		p := &c.catalog.pairs[pair]
		if status := c.catalog.weigh(p.policy, p.store); status != p.status {
			p.status = status
			judged += c.judgePair(pair)
		}
	}
	return judged
}

// judgePair judges the objects of a pair again.
func (c *Checker) judgePair(id int32) int {
	p := &c.catalog.pairs[id]
	for _, at := range p.objects {
		m := &c.vms[at.vm]
		if o := &m.objects[at.object]; c.catalog.judge(o) != o.status {
			c.count(m, -1)
			o.status = c.catalog.judge(o)
			m.status = NotApplicable
			for i := range m.objects {
				m.status = max(m.status, m.objects[i].status)
			}
			c.count(m, 1)
		}
	}
	return len(p.objects)
}

// SetVM adds or replaces a VM.
func (c *Checker) SetVM(v VM) (int, error) {
	all := complaints{kind: "vm", index: nowhere, name: v.Name}
	all.vm(&v)
	if err := all.err(); err != nil {
		return 0, err
	}
	id, found := c.catalog.known.vms[v.Name]
	switch n := len(c.free); {
	case found:
		c.leave(id)
	case n > 0:
		id, c.free = c.free[n-1], c.free[:n-1]
	default:
		id, c.vms = int32(len(c.vms)), append(c.vms, vm{})
	}
	c.catalog.known.vms[v.Name] = id
	c.vms[id] = vm{name: v.Name, objects: c.appendObjects(make([]object, 0, 1+len(v.Disks)), &v)}
	c.enter(id)
	return 1 + len(v.Disks), nil
}

// RemoveVM removes a VM, if there is one of that name.
func (c *Checker) RemoveVM(name string) {
	id, found := c.catalog.known.vms[name]
	if !found {
		return
	}
	c.leave(id)
	delete(c.catalog.known.vms, name)
	c.vms[id] = vm{}
	c.free = append(c.free, id)
}
