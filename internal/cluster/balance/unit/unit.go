// Package unit groups the VMs that rules keep together: those on one host move as a unit.
package unit

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/cluster"
)

// Units are the VMs that rules keep together.
type Units struct {
	alone []cluster.VMID   // all VMs, from which units of one are cut
	must  [][]cluster.VMID // by VM: those that must-rules keep with it, ascending; nil for none
	all   [][]cluster.VMID // by VM: those that rules of either kind keep with it
}

// New joins the members of rules that keep VMs together, and of rules that share a VM.
func New(c *cluster.Cluster) *Units {
	u := &Units{alone: make([]cluster.VMID, len(c.VMs))}
	for v := range u.alone {
		u.alone[v] = cluster.VMID(v)
	}
	u.must = joined(c, func(r *cluster.Rule) bool { return r.Must })
	u.all = joined(c, func(*cluster.Rule) bool { return true })
	return u
}

// joined lists the VMs that the selected rules keep together, by VM; nil if there are no such
// rules.
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

// Alone is a unit of one VM.
func (u *Units) Alone(v cluster.VMID) []cluster.VMID { return u.alone[v : v+1] }

// Any reports whether a rule keeps VMs together.
func (u *Units) Any() bool { return u.all != nil }

// With lists the VMs that move along with one for load balance, itself included: those of
// should-rules if they share its host, and those of must-rules.
func (u *Units) With(l *cluster.Layout, v cluster.VMID) []cluster.VMID {
	if u.all == nil || u.all[v] == nil {
		return u.alone[v : v+1]
	}
	return u.beside(l, v)
}

// beside is With for a VM that some rule keeps together with others.
func (u *Units) beside(l *cluster.Layout, v cluster.VMID) []cluster.VMID {
	for _, of := range [...][][]cluster.VMID{u.all, u.must} {
		if of != nil && of[v] != nil {
			if unit := placed(l, of[v]); len(unit) > 1 && OneHost(l, unit) {
				return unit
			}
		}
	}
	return u.alone[v : v+1]
}

// placed lists the VMs that have a host.
func placed(l *cluster.Layout, vms []cluster.VMID) []cluster.VMID {
	off := func(v cluster.VMID) bool { return l.Host(v) == cluster.Nowhere }
	if !slices.ContainsFunc(vms, off) {
		return vms
	}
	return slices.DeleteFunc(slices.Clone(vms), off)
}

// Bound lists the VMs that must share the host of one, itself included, wherever they run.
func (u *Units) Bound(l *cluster.Layout, v cluster.VMID) []cluster.VMID {
	if u.must == nil || u.must[v] == nil {
		return u.alone[v : v+1]
	}
	return placed(l, u.must[v])
}

// Note explains why VMs move together; it is empty for a single VM.
func (u *Units) Note(c *cluster.Cluster, unit []cluster.VMID) string {
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
