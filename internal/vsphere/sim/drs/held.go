package drs

import (
	"maps"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/vsphere/sim/model"
	"plimsoll/internal/vsphere/sim/task"
)

// held are VMs that a round does not move, since operations on them are in progress or
// planned, with their destinations; nil if they stay.
type held map[reference]*reference

// held are the VMs of the cluster that a round does not move.
func (d *drsState) held(tasks *task.Runner) held {
	all := held{}
	for of, is := range task.AllInFlight(tasks) {
		all[of] = is.To
	}
	d.m.Lock()
	defer d.m.Unlock()
	maps.Copy(all, d.begun)
	return all
}

// foreign is closed at the end of an operation of somebody else on a VM of the host; nil if
// there is none.
func (h *hostShadow) foreign(d *drsState) <-chan struct{} {
	all := task.AllInFlight(h.room.tasks)
	d.m.Lock()
	defer d.m.Unlock()
	for _, vm := range h.room.model.On(h.Self, true) {
		_, own := d.begun[vm]
		if is, busy := all[vm]; busy && !own {
			return task.Ended(h.room.tasks, is.Task)
		}
	}
	return nil
}

// layout is that of a view once the operations have ended.
func (h held) layout(v *model.View) *cluster.Layout {
	l := v.Layout.Clone()
	for ref, to := range h {
		id, known := v.VM(ref)
		if to == nil || !known || l.Host(id) == cluster.Nowhere {
			continue
		}
		if host, here := v.Host(*to); here {
			l.Move(id, host)
		}
	}
	return l
}

// options prevent optional moves of these VMs in a round.
func (h held) options(v *model.View, o advice.Options) advice.Options {
	if cooling := o.Cooling; len(h) > 0 {
		o.Cooling = func(vm cluster.VMID) bool { return h.has(v, vm) || cooling != nil && cooling(vm) }
	}
	return o
}

func (h held) has(v *model.View, vm cluster.VMID) bool {
	_, is := h[v.VMs[vm]]
	return is
}

// free are the moves of a step; none if one of its VMs is held.
func (h held) free(v *model.View, moves []advice.Move) []advice.Move {
	for i := range moves {
		if h.has(v, moves[i].VM) {
			return nil
		}
	}
	return moves
}
