package clustertest

import (
	"slices"

	"plimsoll/internal/cluster"
)

// State is the state of a cluster, its index and a layout, in a form that does not depend on
// their history.
type State struct {
	Cluster cluster.Cluster
	Hosts   []HostState
	VMs     []VMState
}

// HostState is the state of a host.
type HostState struct {
	On                         []cluster.VMID
	Reserved, Demand, Capacity cluster.Resources
	Print                      uint64
}

// VMState is the state of a VM.
type VMState struct {
	Host             cluster.HostID
	Reserved, Demand cluster.Resources
	Rules            []cluster.RuleID
	Obstacles        []cluster.Obstacle // by host
	Broken           [][]cluster.RuleID // by host
	Unit             []cluster.VMID
}

// StateOf reads the state.
func StateOf(l *cluster.Layout, x *cluster.Index) State {
	c := l.Cluster()
	s := State{Cluster: *c}
	for i := range c.Hosts {
		h := cluster.HostID(i)
		s.Hosts = append(s.Hosts, HostState{On: slices.Sorted(slices.Values(l.On(h))), Reserved: l.Reserved(h), Demand: l.Demand(h), Capacity: x.Capacity(h), Print: l.Print(h)})
	}
	for i := range c.VMs {
		v := cluster.VMID(i)
		is := VMState{Host: l.Host(v), Reserved: x.Reserved(v), Demand: x.Demand(v), Rules: x.Rules(v), Unit: l.Unit(v)}
		for k := range c.Hosts {
			h := cluster.HostID(k)
			is.Obstacles, is.Broken = append(is.Obstacles, l.Obstacle(v, h)), append(is.Broken, slices.Collect(l.BrokenRules(v, h)))
		}
		s.VMs = append(s.VMs, is)
	}
	return s
}
