package cluster

import "slices"

// Editor adds, removes and changes VMs and rules of a running cluster, and updates the index
// and one layout. The cost of a change depends on the VM, its host and its rules; adding and
// removing also renumbers the VMs behind. A change invalidates anything derived from the index
// and the layout, such as a placer, and excludes other users meanwhile.
type Editor struct {
	c       *Cluster
	x       *Index
	l       *Layout
	core    int64
	kinds   kinds
	classes map[string]int32
	keys    []string // by class; empty where the class is free
	members []int    // VMs of a class
	free    []int32  // classes without VMs
	key     []byte
}

// NewEditor is the editor of a layout, its cluster and its index.
func NewEditor(l *Layout) *Editor {
	e := &Editor{c: l.c, x: l.index, l: l, core: CoreSpeed(l.c), kinds: kindsOf(l.c), classes: map[string]int32{}}
	e.keys, e.members = make([]string, len(e.x.allowed)), make([]int, len(e.x.allowed))
	for v, id := range e.x.class {
		if e.members[id]++; e.members[id] == 1 {
			e.key = appendClass(e.key[:0], &e.c.VMs[v], e.x.wheres[v])
			e.keys[id] = string(e.key)
			e.classes[e.keys[id]] = id
		}
	}
	e.own()
	return e
}

// Add inserts a VM without rules into the cluster at a number. The VMs from this number on are
// renumbered.
func (e *Editor) Add(at VMID, vm VM) {
	c, x, l := e.c, e.x, e.l
	c.VMs = slices.Insert(c.VMs, int(at), vm)
	for r := range c.Rules {
		list := c.Rules[r].VMs
		for i := len(list) - 1; i >= 0 && list[i] >= at; i-- {
			list[i]++
		}
	}
	x.reserved, x.demand = slices.Insert(x.reserved, int(at), Resources{}), slices.Insert(x.demand, int(at), Resources{})
	x.rules, x.wheres = slices.Insert(x.rules, int(at), nil), slices.Insert(x.wheres, int(at), nil)
	x.class = slices.Insert(x.class, int(at), 0)
	x.size(c, at, e.core)
	e.classify(at)
	l.host, l.place = slices.Insert(l.host, int(at), Nowhere), slices.Insert(l.place, int(at), 0)
	e.renumber(at+1, -1)
	l.Move(at, vm.Host)
}

// Remove takes a VM out of the cluster and of its rules. The VMs behind it are renumbered.
func (e *Editor) Remove(at VMID) {
	c, x, l := e.c, e.x, e.l
	l.Move(at, Nowhere)
	e.declassify(at)
	c.VMs = slices.Delete(c.VMs, int(at), int(at)+1)
	for r := range c.Rules {
		list := c.Rules[r].VMs
		i := len(list) - 1
		for ; i >= 0 && list[i] > at; i-- {
			list[i]--
		}
		if i >= 0 && list[i] == at {
			c.Rules[r].VMs = slices.Delete(list, i, i+1)
		}
	}
	x.reserved, x.demand = slices.Delete(x.reserved, int(at), int(at)+1), slices.Delete(x.demand, int(at), int(at)+1)
	x.rules, x.wheres = slices.Delete(x.rules, int(at), int(at)+1), slices.Delete(x.wheres, int(at), int(at)+1)
	x.class = slices.Delete(x.class, int(at), int(at)+1)
	l.host, l.place = slices.Delete(l.host, int(at), int(at)+1), slices.Delete(l.place, int(at), int(at)+1)
	e.renumber(at, 1)
}

// renumber updates the VM numbers in the lists of hosts, from a number on.
func (e *Editor) renumber(from VMID, former int) {
	l := e.l
	for v := from; int(v) < len(l.host); v++ {
		if h := l.host[v]; h != Nowhere {
			l.on[h][l.place[v]] = v
			l.print[h] += scatter(uint64(v)) - scatter(uint64(int(v)+former))
		}
	}
}

// Change replaces a VM. Its rules are the same.
func (e *Editor) Change(at VMID, vm VM) {
	e.l.Move(at, Nowhere)
	e.declassify(at)
	e.c.VMs[at] = vm
	e.x.size(e.c, at, e.core)
	e.classify(at)
	e.l.Move(at, vm.Host)
}

// Rule replaces the rules.
func (e *Editor) Rule(rules []Rule) {
	c, x, l := e.c, e.x, e.l
	for v := range x.wheres { // classes depend on rules about hosts
		if len(x.wheres[v]) > 0 {
			e.declassify(VMID(v))
			x.class[v] = classless
		}
	}
	c.Rules = rules
	e.own()
	clear(x.rules)
	clear(x.wheres)
	x.bind(c)
	for v := range x.wheres {
		if len(x.wheres[v]) > 0 && x.class[v] != classless {
			e.declassify(VMID(v))
			x.class[v] = classless
		}
	}
	for v := range x.class {
		if x.class[v] == classless {
			e.classify(VMID(v))
		}
	}
	l.members = noMembers(c)
	for v, h := range l.host {
		for _, r := range x.rules[v] {
			if h != Nowhere {
				l.members[r][h]++
			}
		}
	}
}

// own gives each rule its own list of VMs.
func (e *Editor) own() {
	for r := range e.c.Rules {
		e.c.Rules[r].VMs = slices.Clone(e.c.Rules[r].VMs)
	}
}

// classless is the class of a VM that is being reclassified.
const classless = -1

// classify gives a VM its class.
func (e *Editor) classify(v VMID) {
	x := e.x
	e.key = appendClass(e.key[:0], &e.c.VMs[v], x.wheres[v])
	id, known := e.classes[string(e.key)]
	if !known {
		hosts := hostsFor(e.c, e.kinds, &e.c.VMs[v], x.wheres[v])
		if n := len(e.free); n > 0 {
			id, e.free = e.free[n-1], e.free[:n-1]
			x.allowed[id], e.keys[id] = hosts, string(e.key)
		} else {
			id = int32(len(x.allowed))
			x.allowed, e.keys, e.members = append(x.allowed, hosts), append(e.keys, string(e.key)), append(e.members, 0)
		}
		e.classes[e.keys[id]] = id
	}
	e.members[id]++
	x.class[v] = id
}

// declassify takes a VM out of its class.
func (e *Editor) declassify(v VMID) {
	id := e.x.class[v]
	if e.members[id]--; e.members[id] == 0 {
		delete(e.classes, e.keys[id])
		e.keys[id], e.x.allowed[id] = "", nil
		e.free = append(e.free, id)
	}
}
