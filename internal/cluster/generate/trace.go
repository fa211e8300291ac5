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
	scale  int64   // factor of all demand that gives the load of the spec; one is 1
	load   int     // resulting load, per cent
}

// vm is a VM with its demand.
type vm struct {
	vm    cluster.VM
	group int
	kind  *behaviour
	busy  int64 // ratio of its mean to that of its kind; one is 1
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
