package drs

import (
	"slices"
	"time"

	"github.com/vmware/govmomi/simulator"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/vsphere/sim/model"
)

// Cool-down times of VMs in periodic rounds: before another move, and before a return to the
// former host.
const (
	cooldown = 30 * time.Minute
	noReturn = time.Hour
)

// Rounds are the periodic rounds of DRS.
type Rounds struct {
	room    *Room
	every   time.Duration
	ctx     *simulator.Context
	observe func()
}

// NewRounds are those of all clusters. The demand of VMs is observed before each.
func NewRounds(r *Room, service simulator.Context, every time.Duration, observe func()) *Rounds {
	own := service
	own.Context, own.Session = r.ctx, &simulator.Session{Registry: simulator.NewRegistry(), Map: r.reg}
	return &Rounds{room: r, every: every, ctx: &own, observe: observe}
}

// Begin makes a round at each interval of the clock, until DRS is closed.
func (s *Rounds) Begin() { s.room.running.Go(s.run) }

func (s *Rounds) run() {
	for {
		due, stop := s.room.tasks.Clock().After(s.every)
		select {
		case <-due:
			s.Tick(false)
		case <-s.room.ctx.Done():
			stop()
			return
		}
	}
}

// Tick makes a round of each cluster, and may wait for the moves.
func (s *Rounds) Tick(wait bool) {
	s.observe()
	var all []<-chan struct{}
	for _, e := range s.room.reg.All("ClusterComputeResource") {
		c, ok := e.(*simulator.ClusterComputeResource)
		if !ok || s.room.state(c.Self).works() {
			continue
		}
		if done := s.room.round(s.ctx, c, true); done != nil && wait {
			all = append(all, done)
		}
	}
	for _, done := range all {
		select {
		case <-done:
		case <-s.room.ctx.Done():
			return
		}
	}
}

// works reports whether recommendations are in progress.
func (d *drsState) works() bool {
	if !d.working.TryLock() {
		return true
	}
	d.working.Unlock()
	return false
}

// calm are the refusals of recently moved VMs.
func (d *drsState) calm(v *model.View, now time.Time) advice.Options {
	type leave struct {
		vm   cluster.VMID
		host cluster.HostID
	}
	moved, left := map[cluster.VMID]bool{}, map[leave]bool{}
	d.m.Lock()
	defer d.m.Unlock()
	for _, m := range slices.Backward(d.moves) {
		ago := now.Sub(m.Time)
		if ago >= noReturn {
			break
		}
		if id, known := v.VM(m.Vm); known {
			if h, here := v.Host(m.Source); here {
				left[leave{id, h}] = true
			}
			moved[id] = moved[id] || ago < cooldown
		}
	}
	return advice.Options{
		Cooling: func(vm cluster.VMID) bool { return moved[vm] },
		Left:    func(vm cluster.VMID, h cluster.HostID) bool { return left[leave{vm, h}] },
	}
}
