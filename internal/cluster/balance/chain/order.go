package chain

import (
	"fmt"
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/draft"
	"plimsoll/internal/cluster/balance/unit"
)

// Order finds an order of moves that keeps the hard constraints. In a deadlock a unit waits on
// a free host. The layout is afterwards as before.
func Order(l *cluster.Layout, chain []draft.UnitMove) (path []draft.UnitMove, ok bool) {
	o := order{l: l, left: slices.Clone(chain), waited: map[cluster.VMID]bool{}}
	defer func() {
		for _, h := range slices.Backward(path) {
			unit.Put(l, h.Unit, h.From)
		}
	}()
	for len(o.left) > 0 {
		i := slices.IndexFunc(o.left, func(h draft.UnitMove) bool { return unit.Fits(l, h.Unit, h.To) })
		if i >= 0 {
			path = append(path, o.left[i])
			unit.Put(l, o.left[i].Unit, o.left[i].To)
			o.left = slices.Delete(o.left, i, i+1)
			continue
		}
		h, via := o.wait()
		if h == nil {
			return path, false
		}
		path = append(path, draft.UnitMove{Unit: h.Unit, From: h.From, To: via, Note: o.note(h, via)})
		unit.Put(l, h.Unit, via)
		o.waited[h.Unit[0]], h.From = true, via
		h.Note = fmt.Sprintf("it comes from %s, where it waited for its place", l.Cluster().Hosts[via].Name)
	}
	return path, true
}

// order is a partial order of the moves.
type order struct {
	l      *cluster.Layout
	left   []draft.UnitMove
	waited map[cluster.VMID]bool
}

// wait finds a unit, and a free host for it to wait on, so that another can move; nil if there
// is none.
func (o *order) wait() (*draft.UnitMove, cluster.HostID) {
	for i := range o.left {
		h := &o.left[i]
		if o.waited[h.Unit[0]] {
			continue
		}
		for via := range cluster.HostID(len(o.l.Cluster().Hosts)) {
			if via != h.From && via != h.To && o.passes(h, via) && o.frees(h, via) {
				return h, via
			}
		}
	}
	return nil, cluster.Nowhere
}

// frees reports whether another unit can move while one waits on a host.
func (o *order) frees(h *draft.UnitMove, via cluster.HostID) bool {
	unit.Put(o.l, h.Unit, via)
	defer unit.Put(o.l, h.Unit, h.From)
	return slices.ContainsFunc(o.left, func(other draft.UnitMove) bool {
		return other.Unit[0] != h.Unit[0] && unit.Fits(o.l, other.Unit, other.To)
	})
}

// passes reports whether a unit can be on a host temporarily: only rules about hosts that are
// violated now may be violated then. The layout is afterwards as before.
func (o *order) passes(h *draft.UnitMove, via cluster.HostID) bool {
	unit.Put(o.l, h.Unit, cluster.Nowhere)
	defer unit.Put(o.l, h.Unit, h.From)
	for _, v := range h.Unit {
		if o.l.Passing(v, h.From, via).Check != cluster.Fine {
			return false
		}
		o.l.Move(v, via)
	}
	return true
}

// note explains why a unit goes to a temporary host.
func (o *order) note(h *draft.UnitMove, via cluster.HostID) string {
	c := o.l.Cluster()
	_, obstacle := unit.Obstacle(o.l, h.Unit, h.To)
	text := fmt.Sprintf("it waits there until %s can have it: %s", c.Hosts[h.To].Name, obstacle.Text(c, h.To))
	for _, v := range h.Unit {
		if o := o.l.Obstacle(v, via); o.Check == cluster.HostRuleCheck {
			return text + fmt.Sprintf("; the rule %s remains broken meanwhile", c.Rules[o.Rule].Name)
		}
	}
	return text
}
