package generate

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"strconv"

	"plimsoll/internal/cluster"
)

// Trace is the demand of VMs over time, and when they come and go.
type Trace struct {
	spec   Spec
	tables *tables
	hosts  []cluster.Host
	pools  []cluster.Pool
	vms    []vm
	groups [][]int // VMs of the beginning, by application
	core   int64   // MHz
	scale  int64   // of all demand, so that the load is as wanted; one is 1
	load   int     // per cent, which comes of it
}

// VM is what does not change of one.
type vm struct {
	vm       cluster.VM
	group    int
	kind     *behaviour
	busy     int64 // how far its mean is from that of its kind; one is 1
	from, to int64 // minutes
}

// Sample is what a VM asks for at a minute.
type Sample struct {
	CPU      int64 // MHz
	Active   int64 // bytes
	Consumed int64 // bytes
	Dirty    int64 // bytes/s
	Link     int64 // bit/s
}

// Event is a VM that arrives or departs.
type Event struct {
	Minute  int64
	VM      int
	Arrives bool // it departs otherwise
}

// Forever is when a VM departs that does not.
const Forever = math.MaxInt64

// NewTrace makes the trace of a spec. Its first VMs are those of Cluster with the
// same spec, in the same order; behind them are those that arrive later.
func NewTrace(s Spec) *Trace {
	s = s.within()
	t := &Trace{spec: s, tables: newTables()}
	t.pools = makePools(s)
	t.populate()
	t.makeHosts()
	t.calibrate()
	return t
}

// VMs is how many there are, those that arrive later included.
func (t *Trace) VMs() int { return len(t.vms) }

// VM is a VM without host and demand; those that arrive later wait to be placed.
func (t *Trace) VM(i int) cluster.VM {
	v := t.vms[i].vm
	v.Networks, v.Datastores = slices.Clone(v.Networks), slices.Clone(v.Datastores)
	v.Waiting = i >= t.spec.VMs
	return v
}

// Life is from which minute on a VM is there, and from which on no more.
func (t *Trace) Life(i int) (from, to int64) { return t.vms[i].from, t.vms[i].to }

// At is what a VM asks for at a minute, of at least 0; nothing when it is not there.
func (t *Trace) At(i int, minute int64) Sample {
	m := &t.vms[i]
	if minute < m.from || minute >= m.to || minute < 0 {
		return Sample{}
	}
	return t.sample(i, minute)
}

// Events are the arrivals after the beginning and all departures, in order of time;
// departures come first, then the order of VMs decides.
func (t *Trace) Events() iter.Seq[Event] {
	var all []Event
	for i := range t.vms {
		m := &t.vms[i]
		if m.from > 0 {
			all = append(all, Event{m.from, i, true})
		}
		if m.to != Forever {
			all = append(all, Event{m.to, i, false})
		}
	}
	slices.SortFunc(all, func(a, b Event) int {
		return cmp.Or(cmp.Compare(a.Minute, b.Minute), cmp.Compare(arrives(a), arrives(b)), cmp.Compare(a.VM, b.VM))
	})
	return slices.Values(all)
}

func arrives(e Event) int {
	if e.Arrives {
		return 1
	}
	return 0
}

// numbered are names with a number behind.
func numbered(name string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = name + "-" + strconv.Itoa(i+1)
	}
	return list
}
