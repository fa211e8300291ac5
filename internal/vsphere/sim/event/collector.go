package event

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// usual is the default size of the latest page.
const usual = 10

// unread is the position of a collector before the first read.
const unread = -1

// collector is the events that match a filter. The log's lock guards it.
type collector struct {
	mo.EventHistoryCollector
	log  *Log
	spec types.EventFilterSpec
	size int               // of the latest page
	list []types.BaseEvent // the oldest first
	at   int               // index of the event after the last one read
}

// collector creates a collector that does not receive events yet.
func (l *Log) collector(spec *types.EventFilterSpec) (*collector, *soap.Fault) {
	size, fault := sized(spec.MaxCount)
	c := &collector{log: l, spec: *spec, size: size, at: unread}
	c.Filter = *spec
	return c, fault
}

// open makes a collector receive events, unless there are too many collectors.
func (l *Log) open(c *collector, limit int) bool {
	l.m.Lock()
	defer l.m.Unlock()
	if len(l.collectors) >= limit {
		return false
	}
	c.refill()
	l.collectors[c.Self] = c
	return true
}

// sized is the size of a page.
func sized(n int32) (int, *soap.Fault) {
	switch {
	case n == 0:
		return usual, nil
	case n < 0 || n > most:
		return 0, simulator.Fault("A specified parameter was not correct: maxCount", &types.InvalidArgument{InvalidProperty: "maxCount"})
	}
	return int(n), nil
}

// refill copies matching events of the log. The log is locked.
func (c *collector) refill() {
	c.list, c.at = nil, unread
	for _, e := range c.log.list[max(0, len(c.log.list)-most):] {
		if c.log.matches(e, &c.spec) {
			c.list = append(c.list, e)
		}
	}
}

// push adds an event. The log is locked.
func (c *collector) push(e types.BaseEvent) {
	if c.list = append(c.list, e); len(c.list) > most {
		c.list = c.list[1:]
		if c.at > 0 {
			c.at--
		}
	}
}

// latest is the latest page, newest first.
func (c *collector) latest() []types.BaseEvent {
	c.log.m.Lock()
	defer c.log.m.Unlock()
	page := c.log.written(c.list[max(0, len(c.list)-c.size):])
	slices.Reverse(page)
	return page
}

// read moves by some events, and returns them in reading order.
func (c *collector) read(n int32, older bool) ([]types.BaseEvent, *soap.Fault) {
	if n <= 0 {
		_, fault := sized(-1)
		return nil, fault
	}
	c.log.m.Lock()
	defer c.log.m.Unlock()
	if older {
		if c.at == unread {
			c.at = len(c.list)
		}
		to := c.at
		c.at = max(0, to-int(n))
		page := c.log.written(c.list[c.at:to])
		slices.Reverse(page)
		return page, nil
	}
	from := max(0, c.at)
	c.at = min(len(c.list), from+int(n))
	return c.log.written(c.list[from:c.at]), nil
}

// ReadNextEvents reads newer events, starting from the oldest.
func (c *collector) ReadNextEvents(_ *simulator.Context, r *types.ReadNextEvents) soap.HasFault {
	body := new(methods.ReadNextEventsBody)
	list, fault := c.read(r.MaxCount, false)
	if body.Fault_ = fault; fault == nil {
		body.Res = &types.ReadNextEventsResponse{Returnval: list}
	}
	return body
}

// ReadPreviousEvents reads older events, starting from the newest.
func (c *collector) ReadPreviousEvents(_ *simulator.Context, r *types.ReadPreviousEvents) soap.HasFault {
	body := new(methods.ReadPreviousEventsBody)
	list, fault := c.read(r.MaxCount, true)
	if body.Fault_ = fault; fault == nil {
		body.Res = &types.ReadPreviousEventsResponse{Returnval: list}
	}
	return body
}

// ResetCollector goes to the newest event.
func (c *collector) ResetCollector(*types.ResetCollector) soap.HasFault {
	c.log.m.Lock()
	defer c.log.m.Unlock()
	c.at = len(c.list)
	return &methods.ResetCollectorBody{Res: new(types.ResetCollectorResponse)}
}

// RewindCollector goes to the oldest event.
func (c *collector) RewindCollector(*types.RewindCollector) soap.HasFault {
	c.log.m.Lock()
	defer c.log.m.Unlock()
	c.at = 0
	return &methods.RewindCollectorBody{Res: new(types.RewindCollectorResponse)}
}

// SetCollectorPageSize sets the size of the latest page, and resets the position.
func (c *collector) SetCollectorPageSize(_ *simulator.Context, r *types.SetCollectorPageSize) soap.HasFault {
	body := new(methods.SetCollectorPageSizeBody)
	size, fault := sized(r.MaxCount)
	if body.Fault_ = fault; fault != nil {
		return body
	}
	c.log.m.Lock()
	defer c.log.m.Unlock()
	c.size = size
	c.refill()
	body.Res = new(types.SetCollectorPageSizeResponse)
	return body
}

// DestroyCollector removes the collector.
func (c *collector) DestroyCollector(ctx *simulator.Context, _ *types.DestroyCollector) soap.HasFault {
	ctx.Session.Remove(ctx, c.Self)
	ctx.Map.Remove(ctx, c.Self)
	return &methods.DestroyCollectorBody{Res: new(types.DestroyCollectorResponse)}
}

// Get is the properties.
func (c *collector) Get() mo.Reference {
	is := c.EventHistoryCollector
	is.LatestPage = c.latest()
	return &is
}

// The methods of a listener, without effect: the log listens. They make the simulator remove
// the collector with its session.

// PutObject does nothing.
func (*collector) PutObject(*simulator.Context, mo.Reference) {}

// UpdateObject does nothing.
func (*collector) UpdateObject(*simulator.Context, mo.Reference, []types.PropertyChange) {}

// RemoveObject does nothing.
func (*collector) RemoveObject(*simulator.Context, reference) {}
