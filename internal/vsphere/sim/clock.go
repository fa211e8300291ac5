package sim

import (
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/sim/clock"
	"plimsoll/internal/vsphere/sim/drs"
	"plimsoll/internal/vsphere/sim/load"
	"plimsoll/internal/vsphere/sim/shadow"
)

// instance is the service instance with the time of a clock.
type instance struct {
	*simulator.ServiceInstance
	shadow.Unlocked
	clock *clock.Clock
}

// CurrentTime is the time.
func (s *instance) CurrentTime(*types.CurrentTime) soap.HasFault {
	return &methods.CurrentTimeBody{Res: &types.CurrentTimeResponse{Returnval: s.clock.Now()}}
}

// timed shadows the service instance with one on the clock.
func timed(c *clock.Clock) shadow.Wrap {
	return func(of mo.Reference) mo.Reference {
		if o, ok := of.(*simulator.ServiceInstance); ok {
			return &instance{ServiceInstance: o, clock: c}
		}
		return nil
	}
}

// dateEvents sets the times of events from the creation of the inventory to that of the clock.
func dateEvents(service *simulator.Service, c *clock.Clock) {
	ctx := *service.Context
	m := ctx.Map.EventManager()
	ctx.WithLock(m, func() {
		body, ok := m.QueryEvents(&ctx, &types.QueryEvents{This: m.Self, Filter: types.EventFilterSpec{MaxCount: 1000}}).(*methods.QueryEventsBody)
		if !ok || body.Res == nil {
			return
		}
		for _, e := range body.Res.Returnval {
			c.Set(&e.GetEvent().CreatedTime)
		}
	})
}

// passage is how time passes.
type passage struct {
	clock  *clock.Clock
	load   *load.Load
	rounds *drs.Rounds // nil without DRS rounds
	every  time.Duration
	waits  bool          // moves end without the passage of time
	since  time.Duration // time since the last round
}

// pass starts the passage of time: DRS makes its rounds.
func (s *Server) pass(o Options, loads *load.Load) {
	s.time = passage{clock: o.Clock, load: loads, waits: len(o.Tasks.Times.Mean) == 0}
	if o.Rounds == 0 {
		return
	}
	s.time.every, s.time.rounds = o.Rounds, drs.NewRounds(s.engine, *s.Model.Service.Context, o.Rounds, loads.Observe)
	if o.Clock.Runs() {
		s.time.rounds.Begin()
	}
}

// Now is the simulated time.
func (s *Server) Now() time.Time { return s.time.clock.Now() }

// Step advances a clock without speed. DRS makes its rounds when they are due; their moves are
// completed, unless they take time.
func (s *Server) Step(d time.Duration) {
	p := &s.time
	for p.rounds != nil && p.since+d >= p.every {
		p.clock.Step(p.every - p.since)
		d -= p.every - p.since
		p.since = 0
		p.rounds.Tick(p.waits)
	}
	p.clock.Step(d)
	p.since += d
	p.load.Publish()
}
