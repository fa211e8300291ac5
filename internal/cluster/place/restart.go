package place

import (
	"cmp"
	"fmt"
	"slices"

	"plimsoll/internal/cluster"
)

// failover plans the restart of the VMs of a failed host, and protects the capacity reserved
// for it.
type failover struct {
	layout *cluster.Layout
	index  *cluster.Index
	c      *cluster.Cluster
	safe   cluster.Resources // capacity after the host failures to tolerate
	proofs proofs
}

func newFailover(l *cluster.Layout, x *cluster.Index) failover {
	c := l.Cluster()
	return failover{layout: l, index: x, c: c, safe: survivors(c, x)}
}

// restart is where the VMs of a host would restart if it failed, packed by reservation, not by
// load: the largest first, each on the host with most free memory. If that leaves a VM without
// a host, each goes to the fullest host with room. Short are those without a host for lack of
// room; VMs that rules or networks bind to the host are in neither list. The layout is
// afterwards as before.
func (p *failover) restart(f cluster.HostID) (steps []Step, short []cluster.VMID) {
	steps, short, _ = p.restartOn(p.emptiest(), f)
	return steps, short
}

// restartOn also returns the number of hosts examined.
func (p *failover) restartOn(hosts []cluster.HostID, f cluster.HostID) (steps []Step, short []cluster.VMID, looked int) {
	vms := slices.Clone(p.layout.On(f))
	slices.SortFunc(vms, func(a, b cluster.VMID) int {
		x, y := p.index.Reserved(a), p.index.Reserved(b)
		return cmp.Or(cmp.Compare(y.Memory, x.Memory), cmp.Compare(y.CPU, x.CPU),
			cmp.Compare(len(p.index.Rules(b)), len(p.index.Rules(a))), cmp.Compare(a, b))
	})
	if steps, short, looked = p.pack(f, vms, hosts, false); len(short) == 0 {
		return steps, nil, looked
	}
	if tighter, fewer, _ := p.pack(f, vms, hosts, true); len(fewer) < len(short) {
		return tighter, fewer, len(hosts)
	}
	return steps, short, len(hosts)
}

// free is the unreserved capacity of a host.
func (p *failover) free(h cluster.HostID) cluster.Resources {
	return p.index.Capacity(h).Minus(p.layout.Reserved(h))
}

// emptiest lists the usable hosts, those with most free memory first.
func (p *failover) emptiest() []cluster.HostID {
	list := make([]cluster.HostID, 0, len(p.c.Hosts))
	for h := range p.c.Hosts {
		if p.c.Hosts[h].Usable() {
			list = append(list, cluster.HostID(h))
		}
	}
	slices.SortFunc(list, func(a, b cluster.HostID) int {
		return cmp.Or(cmp.Compare(p.free(b).Memory, p.free(a).Memory), cmp.Compare(a, b))
	})
	return list
}

// pack assigns each VM to the first host of a list that can run it, or to the fullest. It
// returns the number of hosts examined.
func (p *failover) pack(f cluster.HostID, vms []cluster.VMID, hosts []cluster.HostID, tight bool) (steps []Step, short []cluster.VMID, looked int) {
	for _, v := range vms {
		p.layout.Move(v, cluster.Nowhere)
	}
	for _, v := range vms {
		to, room := cluster.HostID(cluster.Nowhere), true
		need := p.index.Reserved(v)
		for i, h := range hosts {
			looked = max(looked, i+1)
			if h == f || !room && !need.Fits(p.free(h)) {
				continue
			}
			switch p.layout.Obstacle(v, h).Check {
			case cluster.Fine:
				if to == cluster.Nowhere || p.free(h).Memory < p.free(to).Memory {
					to = h
				}
			case cluster.CPUCheck, cluster.MemoryCheck, cluster.CountCheck:
				room = false
			}
			if to != cluster.Nowhere && !tight {
				break
			}
		}
		switch {
		case to != cluster.Nowhere:
			p.layout.Move(v, to)
			steps = append(steps, Step{v, f, to})
		case !room:
			short = append(short, v)
		}
	}
	for _, v := range vms {
		p.layout.Move(v, f)
	}
	return steps, short, looked
}

// strains is why steps would use spare capacity: after a host failure, one more VM than
// without them would find no host with room. Empty if they would not, or nothing is spare.
func (p *failover) strains(steps []Step) (why string) {
	if p.c.Settings.SpareHosts == 0 {
		return ""
	}
	type loss struct {
		host  cluster.HostID
		first cluster.VMID
		many  int
	}
	var losses []loss
	undone(p.layout, steps, func() {
		hosts := p.emptiest()
		known := p.proofs.on(p.layout, hosts)
		for _, f := range hosts {
			if known.holds(f) {
				continue
			}
			if ok, looked := p.fits(f, hosts); ok {
				known.keep(f, looked)
				continue
			}
			_, short, looked := p.restartOn(hosts, f)
			if len(short) > 0 {
				losses = append(losses, loss{f, short[0], len(short)})
				continue
			}
			known.keep(f, looked)
		}
	})
	for _, l := range losses {
		if _, before := p.restart(l.host); len(before) < l.many {
			need := p.index.Reserved(l.first)
			return fmt.Sprintf("if %s failed, no host would have the %d MHz and %s left that %s reserves",
				p.c.Hosts[l.host].Name, need.CPU, cluster.MiB(need.Memory), p.c.VMs[l.first].Name)
		}
	}
	return ""
}

// fits reports whether a cheap proof shows that all VMs of a host find room, and how many
// hosts it depends on.
func (p *failover) fits(f cluster.HostID, hosts []cluster.HostID) (ok bool, looked int) {
	if p.oneTakesAll(f, hosts) {
		return true, min(2, len(hosts))
	}
	return p.ample(f, hosts)
}

// oneTakesAll reports whether the emptiest other host could run all VMs of a host: the usual
// case, and cheap to check.
func (p *failover) oneTakesAll(f cluster.HostID, hosts []cluster.HostID) bool {
	i := 0
	if hosts[0] == f {
		i = 1
	}
	if i == len(hosts) {
		return false
	}
	best := hosts[i]
	if p.c.Hosts[best].MostVMs > 0 || !p.layout.Reserved(f).Fits(p.free(best)) {
		return false
	}
	return !slices.ContainsFunc(p.layout.On(f), func(v cluster.VMID) bool {
		return !p.index.Allowed(v, best) || len(p.index.Rules(v)) > 0 && p.layout.Obstacle(v, best).Check != cluster.Fine
	})
}

// undone calls a function in the layout after some moves, which it then undoes.
func undone(l *cluster.Layout, steps []Step, do func()) {
	for _, s := range steps {
		l.Move(s.VM, s.To)
	}
	do()
	for _, s := range slices.Backward(steps) {
		l.Move(s.VM, s.From)
	}
}
