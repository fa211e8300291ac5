package generate

import "plimsoll/internal/cluster"

// trace is the demand of VMs over time.
type trace struct {
	spec   Spec
	tables *tables
	hosts  []cluster.Host
	vms    []vm
	groups [][]int // VMs by application
	core   int64   // MHz
	scale  int64   // of all demand, so that the load is as wanted; one is 1
	load   int     // per cent, which comes of it
}

// vm is a VM with its demand.
type vm struct {
	vm    cluster.VM
	group int
	kind  *behaviour
	busy  int64 // deviation of its mean from its kind's; one is 1
}

// sample is the demand of a VM at a minute.
type sample struct {
	CPU      int64 // MHz
	Active   int64 // bytes
	Consumed int64 // bytes
	Dirty    int64 // bytes/s
	Link     int64 // bit/s
}

func newTrace(s Spec) *trace {
	s = s.within()
	t := &trace{spec: s, tables: newTables()}
	t.populate()
	t.makeHosts()
	t.vms = t.vms[:s.VMs]
	t.calibrate()
	return t
}
