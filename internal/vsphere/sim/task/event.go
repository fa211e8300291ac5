package task

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Post posts an event with the time of the clock. The lock of the event manager is held.
func Post(r *Runner, ctx *simulator.Context, m *simulator.EventManager, e types.BaseEvent) {
	m.PostEvent(ctx, &types.PostEvent{EventToPost: e})
	date(r, e.GetEvent())
}

// stamp gives a new event the time of the clock before a client can read it: the collector of events that has just
// got it is locked.
func stamp(r *Runner, of mo.Reference, changes []types.PropertyChange) {
	if _, ok := of.(*mo.EventHistoryCollector); !ok || r.options.Clock == nil {
		return
	}
	for _, c := range changes {
		page, is := c.Val.(*types.ArrayOfEvent)
		if !is {
			continue
		}
		var newest *types.Event
		for _, e := range page.Event {
			if is := e.GetEvent(); newest == nil || is.Key > newest.Key {
				newest = is
			}
		}
		if newest != nil {
			date(r, newest)
		}
	}
}

// date gives an event the time of the clock once.
func date(r *Runner, e *types.Event) {
	r.m.Lock()
	defer r.m.Unlock()
	if e.Key > r.dated {
		r.dated = e.Key
		r.options.Clock.Set(&e.CreatedTime)
	}
}
