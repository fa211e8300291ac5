package proxmox

import (
	"maps"
	"slices"
	"strconv"

	"plimsoll/internal/live"
	"plimsoll/internal/proxmox"
)

// events are the differences between two views.
func (v *view) events(next *view) (list []live.Event) {
	add := func(e live.Event) {
		e.At = next.at
		list = append(list, e)
	}
	if v.quorate && !next.quorate {
		add(live.Event{Kind: live.OtherMessage, Text: "the cluster has lost its quorum: it refuses every change"})
	} else if !v.quorate && next.quorate {
		add(live.Event{Kind: live.OtherMessage, Text: "the cluster has its quorum again"})
	}
	for _, name := range slices.Sorted(maps.Keys(next.states)) {
		if was, before := v.states[name]; before && was != next.states[name] {
			add(live.Event{Kind: live.HostChanged, Host: name, Text: "from " + string(was) + " to " + string(next.states[name])})
		}
	}
	ids := slices.Concat(slices.Collect(maps.Keys(v.seats)), slices.Collect(maps.Keys(next.seats)))
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		was, before := v.seats[id]
		now, after := next.seats[id]
		if !before {
			add(live.Event{Kind: live.VMAdded, VM: now.name, Host: now.node})
		}
		if e, happened := v.moved(next, id); happened {
			add(e)
		}
		if !after {
			add(live.Event{Kind: live.VMRemoved, VM: was.name, Host: was.node})
		}
	}
	for _, e := range v.failures(next) {
		add(e)
	}
	return list
}

// moved is the start, stop or move of a VM.
func (v *view) moved(next *view, id int) (e live.Event, happened bool) {
	was, now := v.seats[id], next.seats[id]
	e = live.Event{VM: now.name, Host: now.node}
	switch {
	case was.name != "" && now.name != "" && was.node != now.node:
		e.Kind, e.From, e.Text = live.VMMoved, was.node, "migrated"
		if n := next.nodes[was.node]; was.runs && now.ha != "" && (n == nil || !n.online) {
			e.Kind, e.Text = live.VMRestarted, "recovered by the HA manager"
		}
		e.By = next.author(id, "qmigrate", "hamigrate")
	case now.runs && !was.runs:
		e.Kind, e.By = live.VMStarted, next.author(id, "qmstart", "hastart", "qmresume")
	case was.runs && !now.runs:
		e.Kind, e.VM, e.Host, e.By = live.VMStopped, was.name, was.node, next.author(id, "qmstop", "qmshutdown", "hastop", "qmsuspend")
	default:
		return e, false
	}
	return e, true
}

// author is the account of the last task of some types for a VM.
func (v *view) author(id int, types ...string) string {
	var last proxmox.Task
	for _, t := range v.tasks {
		if string(t.ID) == strconv.Itoa(id) && slices.Contains(types, t.Type) && (last.UPID == "" || t.Ended == 0 || t.Ended >= last.Ended) {
			last = t
		}
	}
	return last.User
}

// failures are the tasks that have failed since.
func (v *view) failures(next *view) (list []live.Event) {
	old := map[string]bool{}
	for _, t := range v.tasks {
		old[t.UPID] = t.Ended > 0
	}
	for _, t := range next.tasks {
		if !t.Failed() || old[t.UPID] {
			continue
		}
		u, err := proxmox.ParseUPID(t.UPID)
		if err != nil {
			continue
		}
		e := live.Event{Kind: live.TaskFailed, Host: u.Node, By: t.User, Text: t.Type + ": " + t.Status}
		if id, err := strconv.Atoi(string(t.ID)); err == nil {
			e.VM = next.seats[id].name
		}
		list = append(list, e)
	}
	return list
}
