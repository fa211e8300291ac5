package unit

import (
	"slices"

	"plimsoll/internal/cluster"
)

// OneHost reports whether VMs have the same host.
func OneHost(l *cluster.Layout, vms []cluster.VMID) bool {
	return !slices.ContainsFunc(vms, func(v cluster.VMID) bool { return l.Host(v) != l.Host(vms[0]) })
}

// Put moves VMs to a host, or off any, without checks.
func Put(l *cluster.Layout, vms []cluster.VMID, h cluster.HostID) {
	for _, v := range vms {
		l.Move(v, h)
	}
}

// Broken counts the should-rules that VMs violate on their hosts.
func Broken(l *cluster.Layout, vms []cluster.VMID) (n int) {
	for _, v := range vms {
		n += l.Broken(v, l.Host(v))
	}
	return n
}

// Fits reports whether VMs could run on a host together.
func Fits(l *cluster.Layout, vms []cluster.VMID, to cluster.HostID) bool {
	_, o := Obstacle(l, vms, to)
	return o.Check == cluster.Fine
}

// Obstacle is the first VM that could not run on a host with the others, and why.
func Obstacle(l *cluster.Layout, vms []cluster.VMID, to cluster.HostID) (cluster.VMID, cluster.Obstacle) {
	if len(vms) == 1 {
		return vms[0], l.Obstacle(vms[0], to)
	}
	return Try(l, vms, to, func() {})
}

// Try calls a function while VMs run on another host, unless there is an obstacle, which it
// returns. The layout is afterwards as before, but for the order of VMs on their hosts.
func Try(l *cluster.Layout, vms []cluster.VMID, to cluster.HostID, do func()) (v cluster.VMID, o cluster.Obstacle) {
	from := make([]cluster.HostID, len(vms))
	for i, v := range vms {
		from[i] = l.Host(v)
		l.Move(v, cluster.Nowhere)
	}
	for _, v = range vms {
		if o = l.Obstacle(v, to); o.Check != cluster.Fine {
			break
		}
		l.Move(v, to)
	}
	if o.Check == cluster.Fine {
		do()
	}
	for i, v := range vms {
		l.Move(v, from[i])
	}
	return v, o
}
