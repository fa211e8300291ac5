package policy

// SetVM takes a machine as it is now, which may be new. All of its objects are judged
// when one of them changed.
func (c *Checker) SetVM(v VM) (int, error) {
	id := c.find(v.Name, nowhere)
	if err := c.vmProblem(id, &v); err != nil || id != nowhere && c.sameObjects(id, &v) {
		return 0, err
	}
	return c.putVM(id, &v), nil
}

// RemoveVM drops a machine and says whether there was one of that name.
func (c *Checker) RemoveVM(name string) bool {
	id := c.find(name, nowhere)
	if id == nowhere {
		return false
	}
	c.drop(id)
	return true
}

// find is the place of a machine, or nowhere. A right guess spares the search.
func (c *Checker) find(name string, guess int) int32 {
	if guess >= 0 && guess < len(c.machines) && c.machines[guess].objects != nil && c.machines[guess].name == name {
		return int32(guess)
	}
	if id, found := c.known.vms[name]; found {
		return id
	}
	return nowhere
}

// sameObjects says whether a machine has the objects that it had, none of which changed.
func (c *Checker) sameObjects(id int32, v *VM) bool {
	m := &c.machines[id]
	if len(m.objects) != 1+len(v.Disks) || m.objects[0].generation != v.Home.Generation {
		return false
	}
	for i := range v.Disks {
		if o := &m.objects[1+i]; o.generation != v.Disks[i].Generation || o.name != v.Disks[i].Name {
			return false
		}
	}
	return true
}

// vmProblem is why a machine cannot be taken.
func (c *Checker) vmProblem(id int32, v *VM) error {
	var all complaints
	all.at("vm", nowhere, v.Name)
	all.vm(v)
	if id == nowhere {
		return all.err()
	}
	old := c.machines[id].objects
	at := make(map[string]int, len(old))
	for i := range old {
		at[old[i].name] = i
	}
	for i := range 1 + len(v.Disks) {
		now := &v.Home
		if i > 0 {
			now = &v.Disks[i-1]
		}
		if k, found := at[now.Name]; found && old[k].generation == now.Generation && c.differs(&old[k], now) {
			all.add("%s changed, and its generation is still %d: raise it", label(now.Name), now.Generation)
		}
	}
	return all.err()
}

func (c *Checker) differs(o *object, now *Object) bool {
	policy, store := c.where(o)
	return policy != now.Policy || store != now.Datastore || o.applied != now.Applied
}

// where names the policy and the datastore of an object.
func (c *Checker) where(o *object) (policy, store string) {
	if o.pair != nowhere {
		policy = c.demands[c.pairs[o.pair].policy].name
	}
	if o.store != nowhere {
		store = c.offers[o.store].name
	}
	return policy, store
}

func (c *Checker) putVM(id int32, v *VM) int {
	if id != nowhere {
		c.forget(id)
	} else {
		id = c.room()
		c.known.vms[v.Name] = id
	}
	m := &c.machines[id]
	*m = machine{name: v.Name, objects: c.appendObjects(make([]object, 0, 1+len(v.Disks)), v)}
	c.attach(id)
	for i := range m.objects {
		o := &m.objects[i]
		o.status = c.judge(o)
		m.status = max(m.status, o.status)
	}
	c.count(m, 1)
	return len(m.objects)
}

func (c *Checker) drop(id int32) {
	c.forget(id)
	delete(c.known.vms, c.machines[id].name)
	c.machines[id] = machine{}
	c.free = append(c.free, id)
}

// room is a place for one more machine.
func (c *Checker) room() int32 {
	if n := len(c.free); n > 0 {
		id := c.free[n-1]
		c.free = c.free[:n-1]
		return id
	}
	c.machines = append(c.machines, machine{})
	return int32(len(c.machines) - 1)
}

// forget takes a machine out of all that counts or lists it.
func (c *Checker) forget(id int32) {
	c.count(&c.machines[id], -1)
	c.detach(id)
}

func (c *Checker) count(m *machine, sign int) {
	c.vms[m.status] += sign
	for i := range m.objects {
		o := &m.objects[i]
		c.objects[o.status] += sign
		if o.pair != nowhere {
			c.byPolicy[c.pairs[o.pair].policy][o.status] += sign
		}
	}
}
