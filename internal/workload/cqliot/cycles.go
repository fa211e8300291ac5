package cqliot

import (
	"sync"
	"sync/atomic"
)

// verb is the kind of an operation, and the number of its statement.
type verb uint8

const (
	write verb = iota
	read
)

// stride is the number of consecutive cycles that a connection takes at once.
const stride = 10

// cycleAllocator distributes the cycles of a trial to the load threads.
type cycleAllocator struct {
	next  atomic.Int64 // next free stride of this part
	first int64
	parts int64
	part  int64
}

func newDispenser(p Parameters) *cycleAllocator {
	d := &cycleAllocator{first: int64(p.First), parts: int64(p.Parts), part: int64(p.Part - 1)}
	if p.Mode == sound {
		d.first += int64(p.Rampup)
	}
	return d
}

// take is the beginning of a stride.
func (d *cycleAllocator) take() int64 {
	return d.first + ((d.next.Add(1)-1)*d.parts+d.part)*stride
}

// dealt is a cycle that all before it have been given to somebody.
func (d *cycleAllocator) dealt() int64 { return d.first + d.next.Load()*d.parts*stride }

// cycleQueue gives connections their cycles, each to those of the node that holds its row
// first. Where there is one node each thread has its own; nodes share one, because a
// thread need not have connections to all of them.
type cycleQueue struct {
	iot       *iot
	mu        sync.Mutex // used with several nodes
	readings  *readings
	dispenser *cycleAllocator
	chart     *chart
	ring      *ring // that the queues are of
	at, end   int64
	queues    [][]operation // of cycles, by node
	firsts    []int         // in them
	longest   int           // of them
	buffer    []byte
}

// operation is the operation of a cycle.
type operation struct {
	cycle int64 // that the key is of
	verb  verb
	key   key
}

// leastQueued and mostQueued bound how many operations wait for a node before others do
// them: some times what it may have under way, so that one that is gone is soon noticed.
const (
	leastQueued = 1 << 6
	mostQueued  = 1 << 12
)

func newDealer(i *iot, r *readings, d *cycleAllocator, at *chart) *cycleQueue {
	nodes := at.now()
	n := max(1, len(nodes.nodes))
	return &cycleQueue{
		iot: i, readings: r, dispenser: d, chart: at, ring: nodes, queues: make([][]operation, n), firsts: make([]int, n),
		longest: min(mostQueued, max(leastQueued, 16*i.Connections*i.InFlight)), buffer: make([]byte, 0, 128),
	}
}

// deal is the next operation for a node, and whether it belongs there.
func (d *cycleQueue) deal(node int) (o operation, here bool) {
	if len(d.queues) < 2 {
		return d.draw(), true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if now := d.chart.now(); now != d.ring {
		d.turn(now)
	}
	for {
		if q := d.queues[node]; d.firsts[node] < len(q) {
			o = q[d.firsts[node]]
			if d.firsts[node]++; d.firsts[node] == len(q) || d.firsts[node] == d.longest {
				d.queues[node], d.firsts[node] = q[:copy(q, q[d.firsts[node]:])], 0
			}
			return o, true
		}
		o = d.draw()
		owner := d.ring.owner(o.key.token(d.buffer))
		if owner == node {
			return o, true
		}
		if len(d.queues[owner])-d.firsts[owner] >= d.longest {
			return o, false
		}
		d.queues[owner] = append(d.queues[owner], o)
	}
}

// turn redistributes waiting operations by another ring.
func (d *cycleQueue) turn(now *ring) {
	d.ring = now
	var waiting []operation
	for n, q := range d.queues {
		waiting = append(waiting, q[d.firsts[n]:]...)
		d.queues[n], d.firsts[n] = nil, 0
	}
	for _, o := range waiting {
		owner := now.owner(o.key.token(d.buffer))
		d.queues[owner] = append(d.queues[owner], o)
	}
}

// draw is the operation of the next cycle.
func (d *cycleQueue) draw() operation {
	if d.at == d.end {
		d.at = d.dispenser.take()
		d.end = d.at + stride
	}
	c := d.at
	d.at++
	o := operation{cycle: c, verb: d.iot.verb(c)}
	if o.verb == read && d.iot.Mode == sound {
		o.cycle = d.written(c)
	}
	o.key = d.readings.key(o.cycle)
	return o
}

// These are added to a cycle where the hash of the cycle itself has another use.
const (
	another = 1 << 62
	third   = 1 << 61
)

// verb is the kind of a cycle: in mode faithful, the first of every few reads; in mode
// sound, it is random.
func (i *iot) verb(cycle int64) verb {
	all := int64(i.Reads + i.Writes)
	at := cycle % all
	if i.Mode == sound {
		at = hash(cycle+another) % all
	}
	if at < int64(i.Reads) {
		return read
	}
	return write
}

// written is a cycle, drawn by another, of which a row was written: of the ramp-up, or
// of this trial so long ago that it was answered.
func (d *cycleQueue) written(by int64) int64 {
	rampup, most := int64(d.iot.Rampup), int64(d.iot.Rampup)
	if d.iot.Parts == 1 && d.iot.First == 0 {
		most = max(most, d.dispenser.dealt()-2*int64(d.iot.Connections*d.iot.InFlight)*int64(1+len(d.queues))-mostQueued-stride*int64(d.iot.Threads+1))
	}
	for k := by; ; k++ {
		k = hash(k + third)
		if c := k % most; c < rampup || d.iot.verb(c) == write {
			return c
		}
	}
}
