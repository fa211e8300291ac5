package sim_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/event"
	"github.com/vmware/govmomi/vim25/types"
)

// keysOf are the numbers of events.
func keysOf(list []types.BaseEvent) (keys []int32) {
	for _, e := range list {
		keys = append(keys, e.GetEvent().Key)
	}
	return keys
}

func TestEventsAreFilteredByTheSimulatedTime(t *testing.T) {
	t.Parallel()
	b, s := serveAt(t, simple())
	name, _ := b.some()
	v := b.vm(name)
	m := event.NewManager(b.Client.Client)
	off := types.EventFilterSpec{EventTypeId: []string{"VmPoweredOffEvent"}}
	b.done(v.PowerOff(b.ctx))
	s.Step(2 * time.Hour)
	later := tuesday().Add(time.Hour)
	early, late := off, off
	early.Time, late.Time = &types.EventFilterSpecByTime{EndTime: &later}, &types.EventFilterSpecByTime{BeginTime: &later}
	live := sure(m.CreateCollectorForEvents(b.ctx, late)) // an event is filtered when it is posted, too
	b.done(v.PowerOn(b.ctx))
	b.done(v.PowerOff(b.ctx))
	for what, c := range map[string]struct {
		filter types.EventFilterSpec
		want   time.Time
	}{"before": {early, tuesday()}, "after": {late, tuesday().Add(2 * time.Hour)}} {
		list, err := m.QueryEvents(b.ctx, c.filter)
		if err != nil || len(list) != 1 || !list[0].GetEvent().CreatedTime.Equal(c.want) {
			t.Errorf("%s %v there are the events %+v (%v), want one of %v", what, later, list, err, c.want)
		}
	}
	if page, err := live.LatestPage(b.ctx); err != nil || len(page) != 1 || !page[0].GetEvent().CreatedTime.Equal(tuesday().Add(2*time.Hour)) {
		t.Errorf("the collector has %+v (%v), want the event of the later time", page, err)
	}
}

func TestEventsOfAnObjectAndOfWhatIsBelowIt(t *testing.T) {
	t.Parallel()
	b, _ := serveAt(t, simple())
	name, _ := b.some()
	v := b.vm(name)
	is := b.see(v)
	b.done(v.PowerOff(b.ctx))
	m := event.NewManager(b.Client.Client)
	other := b.elsewhere(is).Self
	for _, c := range []struct {
		of        types.ManagedObjectReference
		recursion types.EventFilterSpecRecursionOption
		want      int
	}{
		{v.Reference(), types.EventFilterSpecRecursionOptionSelf, 1}, {v.Reference(), types.EventFilterSpecRecursionOptionChildren, 0},
		{*is.Runtime.Host, types.EventFilterSpecRecursionOptionSelf, 1}, {*is.Runtime.Host, types.EventFilterSpecRecursionOptionChildren, 1},
		{*is.ResourcePool, types.EventFilterSpecRecursionOptionSelf, 0}, {*is.ResourcePool, types.EventFilterSpecRecursionOptionAll, 1},
		{*is.Parent, types.EventFilterSpecRecursionOptionChildren, 1}, {other, types.EventFilterSpecRecursionOptionAll, 0},
		{b.ServiceContent.RootFolder, types.EventFilterSpecRecursionOptionAll, 1}, {b.ServiceContent.RootFolder, types.EventFilterSpecRecursionOptionChildren, 1},
	} {
		list, err := m.QueryEvents(b.ctx, types.EventFilterSpec{EventTypeId: []string{"VmPoweredOffEvent"}, Entity: &types.EventFilterSpecByEntity{Entity: c.of, Recursion: c.recursion}})
		if err != nil || len(list) != c.want {
			t.Errorf("%s, %s: %d events (%v), want %d", c.of, c.recursion, len(list), err, c.want)
		}
	}
}

func TestAClientScrollsThroughEvents(t *testing.T) {
	t.Parallel()
	b, _ := serveAt(t, simple())
	m := event.NewManager(b.Client.Client)
	c := sure(m.CreateCollectorForEvents(b.ctx, types.EventFilterSpec{EventTypeId: []string{"GeneralEvent"}, MaxCount: 2}))
	post := func(n int) {
		for i := range n {
			e := &types.GeneralEvent{Message: string(rune('a' + i))}
			e.Datacenter = &types.DatacenterEventArgument{Datacenter: b.ServiceContent.RootFolder}
			if err := m.PostEvent(b.ctx, e); err != nil {
				t.Fatal(err)
			}
		}
	}
	post(5)
	all := keysOf(sure(c.ReadNextEvents(b.ctx, 10)))
	if len(all) != 5 || !slices.IsSorted(all) {
		t.Fatalf("the events are %v, want 5 from the oldest to the newest", all)
	}
	read := func(what string, do func(context.Context, int32) ([]types.BaseEvent, error), n int32, want ...int32) {
		t.Helper()
		if got := keysOf(sure(do(b.ctx, n))); !slices.Equal(got, want) {
			t.Errorf("%s are %v, want %v", what, got, want)
		}
	}
	read("the next at the end", c.ReadNextEvents, 10)
	read("the previous", c.ReadPreviousEvents, 2, all[4], all[3])
	if err := c.Rewind(b.ctx); err != nil {
		t.Fatal(err)
	}
	read("the next after a rewind", c.ReadNextEvents, 2, all[0], all[1])
	if err := c.Reset(b.ctx); err != nil {
		t.Fatal(err)
	}
	read("the next after a reset", c.ReadNextEvents, 10)
	post(1)
	next := sure(c.ReadNextEvents(b.ctx, 10))
	if len(next) != 1 || next[0].GetEvent().Key <= all[4] {
		t.Errorf("after another event the next are %v", keysOf(next))
	}
	if page := sure(c.LatestPage(b.ctx)); len(page) != 2 || page[0].GetEvent().Key != next[0].GetEvent().Key {
		t.Errorf("the latest page is %v, want the 2 newest, the newest first", keysOf(page))
	}
	if _, err := c.ReadNextEvents(b.ctx, 0); err == nil || !strings.Contains(err.Error(), "maxCount") {
		t.Errorf("0 events can be read: %v", err)
	}
	if err := c.Destroy(b.ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ReadNextEvents(b.ctx, 1); err == nil {
		t.Error("a collector that was destroyed can be read")
	}
}

func TestEventsHaveMessagesAndUsers(t *testing.T) {
	t.Parallel()
	b, s := serveAt(t, simple())
	name, _ := b.some()
	b.done(b.vm(name).PowerOff(b.ctx))
	m := event.NewManager(b.Client.Client)
	filter := types.EventFilterSpec{EventTypeId: []string{"VmPoweredOffEvent"}, UserName: &types.EventFilterSpecByUsername{UserList: []string{"operator"}}, Category: []string{"info"}}
	list := sure(m.QueryEvents(b.ctx, filter))
	if len(list) != 1 || !strings.Contains(list[0].GetEvent().FullFormattedMessage, name+" on ") || list[0].GetEvent().UserName != "operator" {
		t.Errorf("the events are %+v, want one that says that %s was powered off", list, name)
	}
	for what, change := range map[string]func(*types.EventFilterSpec){
		"of another user": func(f *types.EventFilterSpec) {
			f.UserName = &types.EventFilterSpecByUsername{UserList: []string{"nobody"}}
		},
		"of another category": func(f *types.EventFilterSpec) { f.Category = []string{"error"} },
	} {
		f := filter
		change(&f)
		if list, err := m.QueryEvents(b.ctx, f); err != nil || len(list) > 0 {
			t.Errorf("events %s: %+v (%v), want none", what, list, err)
		}
	}
	for range 32 {
		sure(m.CreateCollectorForEvents(b.ctx, types.EventFilterSpec{}))
	}
	if _, err := m.CreateCollectorForEvents(b.ctx, types.EventFilterSpec{}); err == nil {
		t.Error("there are more collectors than vCenter allows")
	}
	if err := b.SessionManager.Logout(b.ctx); err != nil {
		t.Fatal(err)
	}
	again := connect(t, s)
	if _, err := event.NewManager(again.Client).CreateCollectorForEvents(b.ctx, types.EventFilterSpec{}); err != nil {
		t.Errorf("collectors outlive their session: %v", err)
	}
}
