package inventory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

const (
	eventPage  = 100
	mostMissed = 1000 // maximum events of a query
)

// cursor reads each event of a cluster once, also across connections.
type cursor struct {
	collector reference
	since     time.Time      // time of the newest event read, by the vCenter's clock
	seen      map[int32]bool // keys of the events of that time
	missed    []types.BaseEvent
}

func newCursor() *cursor { return &cursor{seen: map[int32]bool{}} }

// open collects the events of a cluster from now on. Those between two connections are
// queried.
func (e *cursor) open(ctx context.Context, c *vim25.Client, of reference) error {
	clock, err := methods.GetCurrentTime(ctx, c)
	if err != nil {
		return err
	}
	filter := types.EventFilterSpec{Entity: &types.EventFilterSpecByEntity{Entity: of, Recursion: types.EventFilterSpecRecursionOptionAll}}
	if !e.since.IsZero() {
		filter.Time = &types.EventFilterSpecByTime{BeginTime: &e.since}
		filter.MaxCount = mostMissed
		answer, err := methods.QueryEvents(ctx, c, &types.QueryEvents{This: *c.ServiceContent.EventManager, Filter: filter})
		if err != nil {
			return err
		}
		e.missed = answer.Returnval
		filter.MaxCount = 0
	} else {
		e.since = *clock
	}
	filter.Time = &types.EventFilterSpecByTime{BeginTime: clock}
	created, err := methods.CreateCollectorForEvents(ctx, c, &types.CreateCollectorForEvents{This: *c.ServiceContent.EventManager, Filter: filter})
	if err != nil {
		return err
	}
	e.collector = created.Returnval
	// The latest page only signals that there are new events.
	_, err = methods.SetCollectorPageSize(ctx, c, &types.SetCollectorPageSize{This: e.collector, MaxCount: 1})
	return err
}

func (e *cursor) close(c *vim25.Client) {
	if e.collector.Value != "" {
		ref := e.collector
		e.collector = reference{}
		release(func(ctx context.Context) error {
			_, err := methods.DestroyCollector(ctx, c, &types.DestroyCollector{This: ref})
			return err
		})
	}
}

// read gets the new events, oldest first.
func (e *cursor) read(ctx context.Context, c *vim25.Client) ([]types.BaseEvent, error) {
	list := e.missed
	e.missed = nil
	for {
		answer, err := methods.ReadNextEvents(ctx, c, &types.ReadNextEvents{This: e.collector, MaxCount: eventPage})
		if err != nil {
			return nil, err
		}
		list = append(list, answer.Returnval...)
		if len(answer.Returnval) < eventPage {
			break
		}
	}
	slices.SortStableFunc(list, func(a, b types.BaseEvent) int {
		x, y := a.GetEvent(), b.GetEvent()
		return cmp.Or(x.CreatedTime.Compare(y.CreatedTime), cmp.Compare(x.Key, y.Key))
	})
	return slices.DeleteFunc(list, func(event types.BaseEvent) bool { return !e.fresh(event.GetEvent()) }), nil
}

// fresh reports whether an event is new. Events arrive in order of time.
func (e *cursor) fresh(event *types.Event) bool {
	switch at := event.CreatedTime; {
	case at.Before(e.since):
		return false
	case at.After(e.since):
		e.since = at
		clear(e.seen)
	}
	if e.seen[event.Key] {
		return false
	}
	e.seen[event.Key] = true
	return true
}
