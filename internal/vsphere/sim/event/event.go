// Package event is the log of events. An event is cheap: its message is formatted when a
// client reads it, and only matching collectors receive it. The original simulator formats the
// messages of all.
package event

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"text/template"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/sim/clock"
)

type reference = types.ManagedObjectReference

// most is the maximum number of events kept, and of a page.
const most = 1000

// Log is the latest events, including those of the original simulator.
type Log struct {
	reg      *simulator.Registry
	clock    *clock.Clock
	root     reference // the root folder
	original reference // the collector through which the original passes its events

	m          sync.Mutex
	key        int32
	list       []types.BaseEvent // the oldest first
	collectors map[reference]*collector
	formats    map[string]format
	above      map[reference]parents // of VMs
}

// format is the message template of a type of event.
type format struct {
	text, category string
	parsed         *template.Template // nil until the first message
}

// New takes over the events of a simulator. Its context is copied.
func New(base *simulator.Context, c *clock.Clock) (*Log, error) {
	l := &Log{reg: base.Map, clock: c, root: root(base), collectors: map[reference]*collector{}, formats: map[string]format{}, above: map[reference]parents{}}
	m := l.reg.EventManager()
	for _, i := range m.Description.EventInfo {
		l.formats[i.Key] = format{text: i.FullFormat, category: i.Category}
	}
	own := *base
	own.Session = &simulator.Session{Registry: simulator.NewRegistry(), Map: l.reg}
	made, ok := m.CreateCollectorForEvents(&own, &types.CreateCollectorForEvents{This: m.Self, Filter: types.EventFilterSpec{MaxCount: 1}}).(*methods.CreateCollectorForEventsBody)
	if !ok || made.Res == nil {
		return nil, fmt.Errorf("follow the events of the simulator: %v", made.Fault_)
	}
	l.original = made.Res.Returnval
	page, ok := own.Session.Registry.Get(l.original).(*simulator.EventHistoryCollector)
	if !ok {
		return nil, fmt.Errorf("follow the events of the simulator: no collector %s", l.original.Value)
	}
	if old, is := page.ReadNextEvents(&own, &types.ReadNextEvents{This: l.original, MaxCount: most}).(*methods.ReadNextEventsBody); is && old.Res != nil {
		l.list = old.Res.Returnval
	}
	for _, e := range l.list {
		l.key = max(l.key, e.GetEvent().Key)
	}
	for _, e := range l.reg.All("VirtualMachine") {
		l.PutObject(nil, e)
	}
	l.reg.AddHandler(l)
	return l, nil
}

// root is the root folder of a simulator.
func root(ctx *simulator.Context) reference {
	if s, ok := ctx.Map.Get(reference{Type: "ServiceInstance", Value: "ServiceInstance"}).(interface {
		ServiceContent() types.ServiceContent
	}); ok {
		return s.ServiceContent().RootFolder
	}
	return reference{}
}

// Post adds events.
func (l *Log) Post(ctx *simulator.Context, events ...types.BaseEvent) {
	now := l.clock.Now()
	for _, e := range events {
		is := e.GetEvent()
		is.Key, is.ChainId, is.CreatedTime = 0, 0, now
		if ctx.Session != nil {
			is.UserName = ctx.Session.UserName
		}
		l.add(ctx, e)
	}
}

// add numbers an event, and passes it to matching collectors.
func (l *Log) add(ctx *simulator.Context, e types.BaseEvent) {
	l.m.Lock()
	l.key++
	is := e.GetEvent()
	is.Key = l.key
	if is.ChainId == 0 {
		is.ChainId = l.key
	}
	if len(l.list) >= most+most/4 {
		l.list = append(l.list[:0:0], l.list[len(l.list)-most:]...)
	}
	l.list = append(l.list, e)
	var told []*collector
	for _, c := range l.collectors {
		if l.matches(e, &c.spec) {
			c.push(e)
			told = append(told, c)
		}
	}
	l.m.Unlock()
	for _, c := range told {
		ctx.WithLock(c.Self, func() {
			ctx.Update(c, []types.PropertyChange{{Name: "latestPage", Val: c.latest()}})
		})
	}
}

// All lists the kept events, the oldest first.
func (l *Log) All() []types.BaseEvent {
	l.m.Lock()
	defer l.m.Unlock()
	return l.written(l.list[max(0, len(l.list)-most):])
}

// written is a copy of a list of events with their messages. It is not changed afterwards.
func (l *Log) written(list []types.BaseEvent) []types.BaseEvent {
	for _, e := range list {
		if is := e.GetEvent(); is.FullFormattedMessage == "" {
			is.FullFormattedMessage = l.message(e)
		}
	}
	return append([]types.BaseEvent(nil), list...)
}

// message is the text of an event; empty where its type has none.
func (l *Log) message(e types.BaseEvent) string {
	name := kind(e)
	f, is := l.formats[name]
	if !is || f.text == "" {
		return ""
	}
	if f.parsed == nil {
		var err error
		if f.parsed, err = template.New(name).Parse(f.text); err != nil {
			return ""
		}
		l.formats[name] = f
	}
	var text strings.Builder
	_ = f.parsed.Execute(&text, e) // a missing field ends the message
	return text.String()
}

// kind is the name of an event's type.
func kind(e types.BaseEvent) string { return reflect.TypeOf(e).Elem().Name() }

// Reference is the reference of the listener, which is not part of the inventory.
func (*Log) Reference() reference { return reference{Type: "Listener", Value: "plimsoll-events"} }

// PutObject handles new objects.
func (l *Log) PutObject(_ *simulator.Context, of mo.Reference) {
	if v, ok := of.(*simulator.VirtualMachine); ok {
		l.locate(&v.VirtualMachine)
	}
}

// UpdateObject handles changes, among them events of the original, which no client has seen.
func (l *Log) UpdateObject(ctx *simulator.Context, of mo.Reference, changes []types.PropertyChange) {
	switch o := of.(type) {
	case *mo.VirtualMachine:
		for _, c := range changes {
			if c.Name == "parent" || c.Name == "resourcePool" || c.Name == "runtime.host" {
				l.locate(o)
			}
		}
	case *mo.EventHistoryCollector:
		if o.Self != l.original {
			return
		}
		for _, c := range changes {
			if page, is := c.Val.(*types.ArrayOfEvent); is && len(page.Event) > 0 {
				e := page.Event[0].GetEvent()
				e.ChainId = 0
				l.clock.Set(&e.CreatedTime)
				l.add(ctx, page.Event[0])
			}
		}
	}
}

// RemoveObject handles removed objects.
func (l *Log) RemoveObject(_ *simulator.Context, ref reference) {
	if ref.Type != "VirtualMachine" && ref.Type != "EventHistoryCollector" {
		return
	}
	l.m.Lock()
	defer l.m.Unlock()
	delete(l.collectors, ref)
	delete(l.above, ref)
}

// manager shadows the event manager.
type manager struct {
	*simulator.EventManager
	log *Log
}

// Wrap shadows the event manager.
func (l *Log) Wrap(of mo.Reference) mo.Reference {
	if m, ok := of.(*simulator.EventManager); ok {
		return &manager{m, l}
	}
	return nil
}

// CreateCollectorForEvents creates a collector.
func (m *manager) CreateCollectorForEvents(ctx *simulator.Context, r *types.CreateCollectorForEvents) soap.HasFault {
	body := new(methods.CreateCollectorForEventsBody)
	c, fault := m.log.collector(&r.Filter)
	if fault != nil {
		body.Fault_ = fault
		return body
	}
	c.Self.Type = "EventHistoryCollector"
	ctx.Session.Put(c)
	if !m.log.open(c, int(m.MaxCollector)) {
		ctx.Session.Remove(ctx, c.Self)
		body.Fault_ = simulator.Fault("Too many event collectors to create", new(types.InvalidState))
		return body
	}
	body.Res = &types.CreateCollectorForEventsResponse{Returnval: c.Self}
	return body
}

// QueryEvents reads the latest matching events, newest first.
func (m *manager) QueryEvents(_ *simulator.Context, r *types.QueryEvents) soap.HasFault {
	body := new(methods.QueryEventsBody)
	c, fault := m.log.collector(&r.Filter)
	if fault != nil {
		body.Fault_ = fault
		return body
	}
	m.log.m.Lock()
	c.refill()
	m.log.m.Unlock()
	body.Res = &types.QueryEventsResponse{Returnval: c.latest()}
	return body
}
