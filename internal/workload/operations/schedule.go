package operations

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"plimsoll/internal/workload/operations/management"
)

const (
	mostSnapshots = 30 // of a VM; vSphere allows 32 in a chain
	mostFailures  = 3  // in a row, after which a VM is left alone
	firstShares   = 1000
)

// vm is a VM as the load left it.
type vm struct {
	management.VM
	at       *host
	busy     bool
	failures int  // in a row
	doubtful bool // an operation failed or ended unknown: its state is not verified
	aside    bool // left alone for the rest of the load
	reverted bool // its shares are those of a snapshot
	ran      bool // it was powered off in its workflow
	own      int  // 1 + the number of the thread whose workflow it is
}

// host is a host with the VMs of the load on it.
type host struct {
	name   string
	usable bool // can get VMs
	flying int  // operations
	vms    []*vm
}

// assignment is an operation that was chosen.
type assignment struct {
	management.Order
	on    *vm // nil of a VM to be created
	hosts []*host
	held  time.Duration
}

// schedule keeps what the VMs of the load are and do. It chooses operations so that their shares
// are those of the mix: the one that is owed most of those that some VM can do now.
type schedule struct {
	load  *operations
	name  string            // prefix of the names of this load's VMs
	rules management.Survey // what VMs cannot do

	mu      sync.Mutex
	random  *rand.Rand
	hosts   []*host
	vms     int
	mine    map[int]*vm // of the threads of variant workflow
	waiting []*waiter   // threads without an operation, the longest wait first
	idle    chan struct{}
	flying  int // operations
	full    int // hosts that carry out as many as they may
	coming  int // VMs that are being made
	named   int
	dealt   int
	done    []int // dealt by the entry of the mix
	tallies tallies
}

// waiter is a thread that waits for an operation.
type waiter struct {
	thread int
	chosen chan *assignment // nil for a load that is stuck
}

func newSchedule(l *operations, s management.Survey, seed uint64, name string) *schedule {
	b := &schedule{
		load: l, name: name, rules: s, mine: map[int]*vm{}, done: make([]int, len(l.mix)),
		random: rand.New(rand.NewPCG(seed, 14)), tallies: newTallies(),
	}
	for _, name := range s.Hosts {
		b.host(name).usable = true
	}
	for _, v := range s.VMs {
		b.add(&vm{VM: v})
	}
	return b
}

// host is the host of a name.
func (b *schedule) host(name string) *host {
	for _, h := range b.hosts {
		if h.name == name {
			return h
		}
	}
	h := &host{name: name}
	b.hosts = append(b.hosts, h)
	return h
}

// add enters a VM, on the host that it says.
func (b *schedule) add(v *vm) {
	v.at = b.host(v.Host)
	v.at.vms = append(v.at.vms, v)
	b.vms++
	if v.own > 0 {
		b.mine[v.own] = v
	}
}

// remove forgets a VM.
func (b *schedule) remove(v *vm) {
	v.at.drop(v)
	b.vms--
	delete(b.mine, v.own)
}

func (h *host) drop(v *vm) {
	for i, other := range h.vms {
		if other == v {
			last := len(h.vms) - 1
			h.vms[i] = h.vms[last]
			h.vms = h.vms[:last]
			return
		}
	}
}

// next waits until an operation can be chosen. A thread of the variant workflow has the next one of
// its own VM.
func (b *schedule) next(ctx context.Context, thread int) (*assignment, error) {
	began := time.Now()
	b.mu.Lock()
	d := b.choose(thread)
	w := &waiter{thread: thread, chosen: make(chan *assignment, 1)}
	switch {
	case d != nil:
		w.chosen <- d
	case b.flying == 0:
		w.chosen <- nil
	default:
		b.waiting = append(b.waiting, w)
	}
	b.mu.Unlock()
	select {
	case d := <-w.chosen:
		if d == nil {
			return nil, stuck(ctx)
		}
		d.held = time.Since(began)
		return d, nil
	case <-ctx.Done():
		b.giveUp(w)
		return nil, context.Cause(ctx)
	}
}

// giveUp takes a thread off the list of those that wait, and gives what it got to another.
func (b *schedule) giveUp(w *waiter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, other := range b.waiting {
		if other == w {
			b.waiting = append(b.waiting[:i:i], b.waiting[i+1:]...)
			return
		}
	}
	if d := <-w.chosen; d != nil {
		b.dealt--
		b.done[b.load.entry(d.Kind)]--
		b.free(d)
		b.serve()
	}
}

// serve gives operations to the threads that wait. It wakes no thread without work: with hundreds of threads
// and few hosts that would cost more than the operations.
func (b *schedule) serve() {
	left := b.waiting[:0]
	for i, w := range b.waiting {
		d := b.choose(w.thread)
		if d == nil && b.load.Variant != workflow {
			left = append(left, b.waiting[i:]...) // no thread gets what this one does not
			break
		}
		if d == nil {
			left = append(left, w)
			continue
		}
		w.chosen <- d
	}
	clear(b.waiting[len(left):])
	b.waiting = left
	if b.flying > 0 {
		return
	}
	for _, w := range b.waiting {
		w.chosen <- nil
	}
	b.waiting = nil
	if b.idle != nil {
		close(b.idle)
		b.idle = nil
	}
}

// errStuck is of a load whose VMs all failed.
var errStuck = errors.New("no VM is left that an operation of the run list can be done with")

// stuck waits a little, so that a load that is stuck does not spin.
func stuck(ctx context.Context) error {
	const pause = 100 * time.Millisecond
	select {
	case <-time.After(pause):
		return errStuck
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// drain waits until no operation is in flight, or the context ends.
func (b *schedule) drain(ctx context.Context) error {
	b.mu.Lock()
	if b.flying == 0 {
		b.mu.Unlock()
		return nil
	}
	if b.idle == nil {
		b.idle = make(chan struct{})
	}
	idle := b.idle
	b.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("operations are still in flight: %w", context.Cause(ctx))
	}
}

// take marks what an operation occupies.
func (b *schedule) take(d *assignment) *assignment {
	for _, h := range d.hosts {
		if h.flying++; h.flying == b.load.PerHost {
			b.full++
		}
	}
	b.flying++
	if d.on != nil {
		d.on.busy = true
	}
	if d.Name != "" {
		b.coming++
		b.named++
	}
	b.dealt++
	b.done[b.load.entry(d.Kind)]++
	return d
}

// free frees what an operation occupies.
func (b *schedule) free(d *assignment) {
	for _, h := range d.hosts {
		if h.flying == b.load.PerHost {
			b.full--
		}
		h.flying--
	}
	b.flying--
	if d.on != nil {
		d.on.busy = false
	}
	if d.Name != "" {
		b.coming--
	}
}
