package libvirt

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"plimsoll/internal/live"
)

// between reports whether a VM has left its host by a migration and does not appear on another
// one yet.
func (v *view) between(next *view) bool {
	for id, was := range v.seats {
		if now := next.seats[id]; !was.active || now.active {
			continue
		}
		if h := v.hosts[was.host]; h.member != nil {
			if _, migrated := h.member.notes.stop(id); migrated {
				return true
			}
		}
	}
	return false
}

// events are the differences between two views.
func (v *view) events(next *view) (list []live.Event) {
	add := func(e live.Event) {
		e.At = next.at
		list = append(list, e)
	}
	switch {
	case v.unsure == nil && next.unsure != nil:
		add(live.Event{Kind: live.ControlLost, Text: next.unsure.Error()})
	case v.unsure != nil && next.unsure == nil:
		add(live.Event{Kind: live.ControlBack})
	}
	for _, name := range slices.Sorted(maps.Keys(next.hosts)) {
		was, now := v.hosts[name], next.hosts[name]
		switch {
		case was.lost == "" && now.lost != "":
			add(live.Event{Kind: live.ControlLost, Host: name, Text: now.lost})
		case was.lost != "" && now.lost == "":
			add(live.Event{Kind: live.ControlBack, Host: name})
		}
		if was.state != now.state {
			add(live.Event{Kind: live.HostChanged, Host: name, Text: "from " + string(was.state) + " to " + string(now.state)})
		}
	}
	ids := map[uuid]bool{}
	for id := range v.seats {
		ids[id] = true
	}
	for id := range next.seats {
		ids[id] = true
	}
	for _, id := range slices.SortedFunc(maps.Keys(ids), func(a, b uuid) int {
		return cmp.Or(cmp.Compare(name(v, next, a), name(v, next, b)), bytes.Compare(a[:], b[:]))
	}) {
		was, before := v.seats[id]
		now, after := next.seats[id]
		if !before {
			add(live.Event{Kind: live.VMAdded, VM: now.name, Host: now.host})
		}
		if e, happened := moved(v, next, id); happened {
			add(e)
		}
		if !after {
			add(live.Event{Kind: live.VMRemoved, VM: was.name, Host: was.host})
		}
	}
	return list
}

// name is the name of a VM, from the later view if it has one.
func name(v, next *view, id uuid) string {
	if s, is := next.seats[id]; is {
		return s.name
	}
	return v.seats[id].name
}

// moved is the start, stop or move of a VM.
func moved(v, next *view, id uuid) (e live.Event, happened bool) {
	was, now := v.seats[id], next.seats[id]
	arrived := ""
	if h := next.hosts[now.host]; h.member != nil {
		arrived = h.member.notes.start(id)
	}
	switch {
	case was.active && now.active && was.host != now.host:
		e = live.Event{Kind: live.VMMoved, VM: now.name, Host: now.host, From: was.host, Text: arrived}
		if next.hosts[was.host].lost != "" && arrived == "booted" {
			e.Kind, e.Text = live.VMRestarted, "it was started here while the daemon of "+was.host+" does not answer"
		}
	case was.active && now.active:
		return e, false
	case now.active:
		e = live.Event{Kind: live.VMStarted, VM: now.name, Host: now.host, Text: arrived}
	case was.active:
		e = live.Event{Kind: live.VMStopped, VM: was.name, Host: was.host}
		if h := v.hosts[was.host]; h.member != nil {
			e.Text, _ = h.member.notes.stop(id)
		}
	case was.name != "" && now.name != "" && was.host != now.host:
		e = live.Event{Kind: live.VMMoved, VM: now.name, Host: now.host, From: was.host, Text: "it is off"}
	default:
		return e, false
	}
	return e, true
}
