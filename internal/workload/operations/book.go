package operations

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
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
	busy     bool
	failures int  // in a row
	doubtful bool // an operation failed or ended unknown: its state is not verified
	aside    bool // left alone for the rest of the load
	reverted bool // its shares are those of a snapshot
	ran      bool // it was powered off in its workflow
	own      int  // 1 + the number of the thread whose workflow it is
}

// assignment is an operation that was chosen.
type assignment struct {
	management.Order
	on    *vm      // nil of a VM to be created
	hosts []string // that carry it out
	held  time.Duration
}

// book keeps what the VMs of the load are and do. It chooses operations so that their shares are
// those of the mix: the one that is owed most of those that some VM can do now.
type book struct {
	load *operations
	name string // prefix of the names of this load's VMs

	mu      sync.Mutex
	freed   chan struct{} // closed and replaced when an operation has ended
	random  *rand.Rand
	hosts   []string
	flying  map[string]int // operations by host
	vms     []*vm
	coming  int // VMs that are being made
	named   int
	dealt   int
	done    map[management.Kind]int // dealt by kind
	tallies tallies
}

func newBook(l *operations, s management.Survey, seed uint64, name string) *book {
	b := &book{
		load: l, name: name, hosts: s.Hosts, freed: make(chan struct{}), flying: map[string]int{},
		random: rand.New(rand.NewPCG(seed, 14)), done: map[management.Kind]int{}, tallies: newTallies(),
	}
	for _, v := range s.VMs {
		b.vms = append(b.vms, &vm{VM: v})
	}
	return b
}

// next waits until an operation can be chosen. A thread of the variant workflow has the next one of
// its own VM.
func (b *book) next(ctx context.Context, thread int) (*assignment, error) {
	for began := time.Now(); ; {
		b.mu.Lock()
		d := b.choose(thread)
		freed, flying := b.freed, b.inFlight()
		b.mu.Unlock()
		if d != nil {
			d.held = time.Since(began)
			return d, nil
		}
		if flying == 0 {
			return nil, stuck(ctx)
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
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

// patience is how many operations of a kind may be owed before threads wait for hosts that
// are busy. Without it, operations on two hosts would seldom find both of them idle.
const patience = 2

func (b *book) choose(thread int) *assignment {
	if b.load.Variant == workflow {
		return b.step(thread)
	}
	refused := map[management.Kind]bool{}
	for range b.load.mix {
		kind, most := management.Kind(""), 0.
		for _, s := range b.load.mix {
			owed := s.part*float64(b.dealt+1) - float64(b.done[s.kind])
			if !refused[s.kind] && (kind == "" || owed > most) {
				kind, most = s.kind, owed
			}
		}
		if d := b.find(kind); d != nil {
			return b.take(d)
		}
		if most > patience && b.crowded(kind) {
			return nil
		}
		refused[kind] = true
	}
	return nil
}

// step is the next operation in the life of a thread's VM.
func (b *book) step(thread int) *assignment {
	for _, v := range b.vms {
		if v.own != thread+1 || v.aside {
			continue
		}
		kind := management.PowerOn
		switch {
		case v.Power == management.On:
			kind = management.PowerOff
		case v.ran:
			kind = management.Delete
		}
		if v.busy || !b.idle(v.Host) {
			return nil
		}
		return b.take(&assignment{Order: management.Order{Kind: kind, VM: v.ID}, on: v, hosts: []string{v.Host}})
	}
	d := b.creation()
	if d == nil {
		return nil
	}
	d.on = &vm{own: thread + 1}
	return b.take(d)
}

// find is an operation of a kind that some VM can do now; nil where none can.
func (b *book) find(kind management.Kind) *assignment {
	if kind == management.Create {
		return b.creation()
	}
	if len(b.vms) == 0 || kind == management.Clone && b.full() {
		return nil
	}
	first := b.random.IntN(len(b.vms))
	for i := range b.vms {
		v := b.vms[(first+i)%len(b.vms)]
		if v.busy || v.aside || !v.can(kind) || !b.idle(v.Host) {
			continue
		}
		d := &assignment{Order: management.Order{Kind: kind, VM: v.ID}, on: v, hosts: []string{v.Host}}
		switch kind {
		case management.Migrate, management.Relocate:
			if d.Host = b.host(v.Host); d.Host == "" {
				continue
			}
			d.hosts = append(d.hosts, d.Host)
		case management.Clone:
			d.Host, d.Name, d.Mark = v.Host, b.newName(), b.load.mark()
		case management.Reconfigure:
			d.Shares = firstShares + b.random.IntN(firstShares)
		}
		return d
	}
	return nil
}

// crowded reports whether operations in flight on hosts alone keep a migration from its start.
func (b *book) crowded(kind management.Kind) bool {
	if kind != management.Migrate && kind != management.Relocate || len(b.hosts) < 2 {
		return false
	}
	return slices.ContainsFunc(b.vms, func(v *vm) bool { return !v.busy && !v.aside && v.can(kind) })
}

// can reports whether a VM is in a state for an operation.
func (v *vm) can(kind management.Kind) bool {
	switch kind {
	case management.PowerOn:
		return v.Power != management.On
	case management.PowerOff, management.Suspend, management.Migrate:
		return v.Power == management.On
	case management.Delete, management.Relocate:
		return v.Power == management.Off
	case management.Snapshot:
		return v.Power == management.Off && v.Snapshots < mostSnapshots
	case management.Revert:
		return v.Power == management.Off && v.Snapshots > 0
	case management.RemoveSnapshots:
		return v.Snapshots > 0
	}
	return v.Power != management.Suspended
}

// full reports whether there are as many VMs as may be.
func (b *book) full() bool { return len(b.vms)+b.coming >= b.load.most() }

func (b *book) creation() *assignment {
	host := b.host("")
	if host == "" || b.full() {
		return nil
	}
	return &assignment{hosts: []string{host}, Order: management.Order{
		Kind: management.Create, Name: b.newName(), Host: host, Mark: b.load.mark(), Size: b.load.size(),
	}}
}

func (b *book) idle(host string) bool { return b.flying[host] < b.load.PerHost }

// host is one that is idle, at random; empty where all others are busy.
func (b *book) host(other string) string {
	first := b.random.IntN(len(b.hosts))
	for i := range b.hosts {
		if h := b.hosts[(first+i)%len(b.hosts)]; h != other && b.idle(h) {
			return h
		}
	}
	return ""
}

// take marks what an operation occupies.
func (b *book) take(d *assignment) *assignment {
	for _, h := range d.hosts {
		b.flying[h]++
	}
	if d.on != nil {
		d.on.busy = true
	}
	if d.Name != "" {
		b.coming++
		b.named++
	}
	b.dealt++
	b.done[d.Kind]++
	return d
}
