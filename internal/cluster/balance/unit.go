package balance

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/cluster"
)

// units are the VMs that rules keep together: one of them does not move alone.
type units struct {
	alone []cluster.VMID   // every VM, for units of one
	must  [][]cluster.VMID // by VM: those that rules which must hold keep with it, ascending; nil for none
	all   [][]cluster.VMID // and those that any rule does
}

// newUnits joins the members of rules that keep VMs together, and of rules that share a
// VM.
func newUnits(c *cluster.Cluster) *units {
	u := &units{alone: make([]cluster.VMID, len(c.VMs))}
	for v := range u.alone {
		u.alone[v] = cluster.VMID(v)
	}
	u.must = joined(c, func(r *cluster.Rule) bool { return r.Must })
	u.all = joined(c, func(*cluster.Rule) bool { return true })
	return u
}

// joined are the VMs that such rules keep together, by VM; nil where there is no
// such rule.
func joined(c *cluster.Cluster, such func(*cluster.Rule) bool) [][]cluster.VMID {
	var of [][]cluster.VMID
	for i := range c.Rules {
		r := &c.Rules[i]
		if r.Kind != cluster.Together || r.Disabled || len(r.VMs) < 2 || !such(r) {
			continue
		}
		if of == nil {
			of = make([][]cluster.VMID, len(c.VMs))
		}
		var unit []cluster.VMID
		for _, v := range r.VMs {
			unit = append(append(unit, v), of[v]...)
		}
		slices.Sort(unit)
		unit = slices.Compact(unit)
		for _, v := range unit {
			of[v] = unit
		}
	}
	return of
}

// with are the VMs that move with one for the load, itself among them: all that rules
// keep together with it where they share its host, or else those that must be.
func (u *units) with(l *cluster.Layout, v cluster.VMID) []cluster.VMID {
	if u.all == nil || u.all[v] == nil {
		return u.alone[v : v+1]
	}
	return u.beside(l, v)
}

// beside is with, of a VM that some rule keeps together with others.
func (u *units) beside(l *cluster.Layout, v cluster.VMID) []cluster.VMID {
	for _, of := range [...][][]cluster.VMID{u.all, u.must} {
		if of != nil && of[v] != nil {
			if unit := placed(l, of[v]); len(unit) > 1 && onOneHost(l, unit) {
				return unit
			}
		}
	}
	return u.alone[v : v+1]
}

// placed are those of some VMs that have a host.
func placed(l *cluster.Layout, vms []cluster.VMID) []cluster.VMID {
	off := func(v cluster.VMID) bool { return l.Host(v) == cluster.Nowhere }
	if !slices.ContainsFunc(vms, off) {
		return vms
	}
	return slices.DeleteFunc(slices.Clone(vms), off)
}

// onOneHost says whether VMs have the same host.
func onOneHost(l *cluster.Layout, vms []cluster.VMID) bool {
	return !slices.ContainsFunc(vms, func(v cluster.VMID) bool { return l.Host(v) != l.Host(vms[0]) })
}

// moved does something in a layout as it would be with some VMs on another host, where
// nothing forbids one of them to go there; it says what does. The layout is afterwards as
// before, but for the order of VMs on their hosts.
func moved(l *cluster.Layout, vms []cluster.VMID, to cluster.HostID, do func()) cluster.Obstacle {
	if len(vms) == 1 && do == nil {
		return l.Obstacle(vms[0], to)
	}
	from, n := make([]cluster.HostID, len(vms)), 0
	for i, v := range vms {
		from[i] = l.Host(v)
		l.Move(v, cluster.Nowhere)
	}
	var o cluster.Obstacle
	for ; n < len(vms) && o.Check == cluster.Fine; n++ {
		if o = l.Obstacle(vms[n], to); o.Check == cluster.Fine {
			l.Move(vms[n], to)
		}
	}
	if o.Check == cluster.Fine && do != nil {
		do()
	}
	for i, v := range vms {
		l.Move(v, from[i])
	}
	return o
}

// broken counts the rules that only should hold and that VMs break on their hosts.
func broken(l *cluster.Layout, vms []cluster.VMID) (n int) {
	for _, v := range vms {
		n += l.Broken(v, l.Host(v))
	}
	return n
}

// bound are the VMs that must share the host of one, wherever they run, itself among
// them.
func (u *units) bound(l *cluster.Layout, v cluster.VMID) []cluster.VMID {
	if u.must == nil || u.must[v] == nil {
		return u.alone[v : v+1]
	}
	return placed(l, u.must[v])
}

// note says why VMs move together; nothing of one alone.
func (u *units) note(c *cluster.Cluster, unit []cluster.VMID) string {
	if len(unit) == 1 {
		return ""
	}
	verb := "should"
	if u.must != nil && u.must[unit[0]] != nil && len(u.must[unit[0]]) >= len(unit) {
		verb = "must"
	}
	names := make([]string, len(unit))
	for i, v := range unit {
		names[i] = c.VMs[v].Name
	}
	return fmt.Sprintf("%s %s stay together and move in one step", strings.Join(names, ", "), verb)
}
