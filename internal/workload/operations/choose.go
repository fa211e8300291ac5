package operations

import (
	"fmt"
	"slices"

	"plimsoll/internal/workload/operations/management"
)

// patience is how many operations of a kind may be owed before threads wait for hosts that
// are busy. Without it, operations on two hosts would seldom find both of them idle.
const patience = 2

func (b *schedule) choose(thread int) *assignment {
	if b.full == len(b.hosts) {
		return nil
	}
	if b.load.Variant == workflow {
		return b.step(thread)
	}
	refused := uint64(0) // a bit for each entry of the mix
	for range b.load.mix {
		best, most := -1, 0.
		for i, s := range b.load.mix {
			owed := s.part*float64(b.dealt+1) - float64(b.done[i])
			if refused&(1<<i) == 0 && (best < 0 || owed > most) {
				best, most = i, owed
			}
		}
		kind := b.load.mix[best].kind
		if d := b.find(kind); d != nil {
			return b.take(d)
		}
		if most > patience && b.crowded(kind) {
			return nil
		}
		refused |= 1 << best
	}
	return nil
}

// step is the next operation in the life of a thread's VM.
func (b *schedule) step(thread int) *assignment {
	if v := b.mine[thread+1]; v != nil && !v.aside {
		kind := management.PowerOn
		switch {
		case v.Power == management.On:
			kind = management.PowerOff
		case v.ran:
			kind = management.Delete
		}
		if v.busy || !v.at.idle(b.load.PerHost) {
			return nil
		}
		return b.take(&assignment{Order: b.order(kind, v), on: v, hosts: []*host{v.at}})
	}
	d := b.creation()
	if d == nil {
		return nil
	}
	d.on = &vm{own: thread + 1}
	return b.take(d)
}

// order is an operation on a VM.
func (b *schedule) order(kind management.Kind, v *vm) management.Order {
	return management.Order{Kind: kind, VM: v.ID, From: v.Host}
}

// find is an operation of a kind that some VM can do now; nil where none can.
func (b *schedule) find(kind management.Kind) *assignment {
	if kind == management.Create {
		return b.creation()
	}
	if kind == management.Clone && b.atLimit() {
		return nil
	}
	first := b.random.IntN(len(b.hosts))
	for i := range b.hosts {
		h := b.hosts[(first+i)%len(b.hosts)]
		if len(h.vms) == 0 || !h.idle(b.load.PerHost) {
			continue
		}
		if d := b.findOn(h, kind); d != nil {
			return d
		}
	}
	return nil
}

// findOn is an operation of a kind on a VM of a host.
func (b *schedule) findOn(h *host, kind management.Kind) *assignment {
	d := &assignment{hosts: []*host{h}}
	to := h
	if moves(kind) {
		if to = b.target(h); to == nil {
			return nil
		}
		d.hosts = append(d.hosts, to)
	}
	first := b.random.IntN(len(h.vms))
	for i := range h.vms {
		v := h.vms[(first+i)%len(h.vms)]
		if v.busy || v.aside || !v.can(kind) || b.bars(v, kind) {
			continue
		}
		d.Order, d.on = b.order(kind, v), v
		switch kind {
		case management.Migrate, management.Relocate:
			d.Host = to.name
		case management.Clone:
			d.Host, d.Name, d.Mark = v.Host, b.newName(), b.load.note()
		case management.Reconfigure:
			d.Shares = firstShares + b.random.IntN(firstShares)
		}
		return d
	}
	return nil
}

// moves reports whether an operation takes a VM to another host.
func moves(kind management.Kind) bool {
	return kind == management.Migrate || kind == management.Relocate
}

// crowded reports whether operations in flight on hosts alone keep a migration from its start.
func (b *schedule) crowded(kind management.Kind) bool {
	if !moves(kind) || len(b.hosts) < 2 {
		return false
	}
	return slices.ContainsFunc(b.hosts, func(h *host) bool {
		return slices.ContainsFunc(h.vms, func(v *vm) bool { return !v.busy && !v.aside && v.can(kind) && !b.bars(v, kind) })
	})
}

// bars reports whether the platform refuses an operation on a VM in its state.
func (b *schedule) bars(v *vm, kind management.Kind) bool {
	return b.rules.Fixed && v.Snapshots > 0 && (moves(kind) || kind == management.Register) ||
		b.rules.ColdClones && kind == management.Clone && v.Power != management.Off
}

// can reports whether a VM is in a state for an operation.
func (v *vm) can(kind management.Kind) bool {
	switch kind {
	case management.PowerOn:
		return v.Power != management.On
	case management.PowerOff, management.Suspend, management.Migrate:
		return v.Power == management.On
	case management.Delete, management.Relocate, management.Register:
		return v.Power == management.Off
	case management.Snapshot:
		return v.Power == management.Off && v.Snapshots < mostSnapshots
	case management.Revert:
		return v.Power == management.Off && v.Snapshots > 0
	case management.RemoveSnapshots: // Proxmox VE refuses them of a VM whose memory is saved
		return v.Snapshots > 0 && v.Power != management.Suspended
	}
	return v.Power != management.Suspended
}

// atLimit reports whether there are as many VMs as may be.
func (b *schedule) atLimit() bool { return b.vms+b.coming >= b.load.most() }

func (b *schedule) creation() *assignment {
	h := b.target(nil)
	if h == nil || b.atLimit() {
		return nil
	}
	return &assignment{hosts: []*host{h}, Order: management.Order{
		Kind: management.Create, Name: b.newName(), Host: h.name, Mark: b.load.note(), Size: b.load.size(),
	}}
}

// idle reports whether a host carries out fewer operations than it may.
func (h *host) idle(most int) bool { return h.flying < most }

// target is a host that is idle and can get VMs, at random; nil where all others are busy.
func (b *schedule) target(other *host) *host {
	first := b.random.IntN(len(b.hosts))
	for i := range b.hosts {
		if h := b.hosts[(first+i)%len(b.hosts)]; h != other && h.usable && h.idle(b.load.PerHost) {
			return h
		}
	}
	return nil
}

// newName is that of the next VM.
func (b *schedule) newName() string { return fmt.Sprintf("%s%06d", b.name, b.named) }
