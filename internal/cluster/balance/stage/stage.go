// Package stage groups the moves of a plan into stages that run concurrently.
package stage

import (
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/migrate"
)

// Timetable is a plan in stages: the moves of one stage run concurrently, and the next stage
// begins when all of them have ended.
type Timetable struct {
	Stages  []Stage
	Seconds int64 // of all stages, as far as migrations take them
}

// Stage is moves that run concurrently.
type Stage struct {
	Moves   []int // ascending indices in the plan's list
	Seconds int64 // duration of the longest; a restart counts as none
	// Stopped are VMs that dirty memory faster than it can be copied, and are paused
	// meanwhile.
	Stopped []cluster.VMID
}

// Make groups a plan for a layout into stages. At any progress of a stage, with a VM in
// migration counted on both hosts, the plan breaks no more than its own order breaks:
// reservations fit, VMs that run apart never meet, and those that stay together move at once.
// A step waits for what must leave before it fits. A step that the limits do not allow at all
// has a stage of its own.
func Make(l *cluster.Layout, x *cluster.Index, p advice.Plan, m migrate.Limits) Timetable {
	n := len(l.Cluster().Hosts)
	s := &stager{
		c: l.Cluster(), x: x, l: l.Clone(), plan: p, limits: m,
		coming: make([]cluster.Resources, n), heads: make([]int, n), busy: make([]int64, n),
	}
	s.collect()
	var t Timetable
	for len(s.left) > 0 {
		stage := s.stage()
		t.Stages = append(t.Stages, stage)
		t.Seconds += stage.Seconds
	}
	return t
}

// stager fills stages in the order of the plan.
type stager struct {
	c      *cluster.Cluster
	x      *cluster.Index
	l      *cluster.Layout // after the stages so far
	plan   advice.Plan
	limits migrate.Limits
	steps  [][]int // moves of each step
	after  [][]int // by step: the earlier steps that it waits for
	done   []bool
	left   []int // unfinished steps, in order

	// Of the stage that is being filled, by host.
	coming []cluster.Resources // reservations of its moves, and of earlier ones that wait
	heads  []int               // number of VMs
	busy   []int64             // migrations
}

// collect groups the moves by step, and finds the dependencies between steps.
func (s *stager) collect() {
	for i := range s.plan.Moves {
		if i == 0 || s.plan.Moves[i].Number != s.plan.Moves[i-1].Number {
			s.left = append(s.left, len(s.steps))
			s.steps = append(s.steps, nil)
		}
		last := &s.steps[len(s.steps)-1]
		*last = append(*last, i)
	}
	s.after, s.done = make([][]int, len(s.steps)), make([]bool, len(s.steps))
	touched := map[cluster.RuleID][]int{} // steps so far, by rule of their VMs
	last := map[cluster.VMID]int{}
	for k, moves := range s.steps {
		for _, i := range moves {
			m := &s.plan.Moves[i]
			if before, again := last[m.VM]; again {
				s.after[k] = append(s.after[k], before)
			}
			for _, id := range s.x.Rules(m.VM) {
				for _, before := range touched[id] {
					if s.waits(m, before, id) {
						s.after[k] = append(s.after[k], before)
					}
				}
			}
		}
		for _, i := range moves {
			last[s.plan.Moves[i].VM] = k
			for _, id := range s.x.Rules(s.plan.Moves[i].VM) {
				touched[id] = append(touched[id], k)
			}
		}
	}
}

// waits reports whether a move must follow an earlier step because of a rule: VMs that stay
// together keep their order, and a VM enters a host once those that it must run apart from
// have left.
func (s *stager) waits(m *advice.Move, step int, id cluster.RuleID) bool {
	rule := &s.c.Rules[id]
	return rule.Kind == cluster.Together || slices.ContainsFunc(s.steps[step], func(i int) bool {
		o := &s.plan.Moves[i]
		return o.VM != m.VM && o.From == m.To && slices.Contains(rule.VMs, o.VM)
	})
}

// stage removes the steps that can begin now, and applies them.
func (s *stager) stage() (stage Stage) {
	clear(s.coming)
	clear(s.heads)
	clear(s.busy)
	var now, later []int
	for _, k := range s.left {
		if s.ready(k) && s.fits(k) && s.allowed(k, now) {
			now = append(now, k)
			s.migrate(k, 1)
		} else {
			later = append(later, k)
		}
		// A waiting step keeps its room on the target: later steps must not take it.
		s.hold(k)
	}
	if len(now) == 0 {
		now, later = later[:1], later[1:]
		s.migrate(now[0], 1)
	}
	s.left = slices.Clone(later)
	for _, k := range now {
		s.done[k] = true
		stage.Moves = append(stage.Moves, s.steps[k]...)
	}
	for _, i := range stage.Moves {
		m := &s.plan.Moves[i]
		seconds, stopped := s.seconds(m)
		if stopped {
			stage.Stopped = append(stage.Stopped, m.VM)
		}
		stage.Seconds = max(stage.Seconds, seconds)
	}
	for _, i := range stage.Moves {
		s.l.Move(s.plan.Moves[i].VM, s.plan.Moves[i].To)
	}
	return stage
}

func (s *stager) ready(k int) bool {
	return !slices.ContainsFunc(s.after[k], func(before int) bool { return !s.done[before] })
}

// fits reports whether the targets of a step have room for it, with all VMs in migration
// counted on both hosts.
func (s *stager) fits(k int) bool {
	var need cluster.Resources
	heads := 0
	for _, i := range s.steps[k] { // all to the same host
		need = need.Plus(s.x.Reserved(s.plan.Moves[i].VM))
		heads++
	}
	to := s.plan.Moves[s.steps[k][0]].To
	most := s.c.Hosts[to].MostVMs
	return s.l.Reserved(to).Plus(s.coming[to]).Plus(need).Fits(s.x.Capacity(to)) &&
		(most == 0 || len(s.l.On(to))+s.heads[to]+heads <= most)
}

// hold reserves the room of a step on its target.
func (s *stager) hold(k int) {
	for _, i := range s.steps[k] {
		m := &s.plan.Moves[i]
		s.coming[m.To] = s.coming[m.To].Plus(s.x.Reserved(m.VM))
		s.heads[m.To]++
	}
}

// migration reports whether a move copies memory: a VM of a failed host restarts instead.
func (s *stager) migration(m *advice.Move) bool {
	return m.From != cluster.Nowhere && s.c.Hosts[m.From].Runs()
}

// migrate adds the migrations of a step to their hosts, or subtracts them.
func (s *stager) migrate(k int, sign int64) {
	for _, i := range s.steps[k] {
		if m := &s.plan.Moves[i]; s.migration(m) {
			s.busy[m.From] += sign
			s.busy[m.To] += sign
		}
	}
}

// allowed reports whether a step may begin beside others: no host exceeds its number of
// migrations, and each copy is still faster than the VM dirties memory.
func (s *stager) allowed(k int, now []int) bool {
	s.migrate(k, 1)
	defer s.migrate(k, -1)
	for _, i := range s.steps[k] {
		m := &s.plan.Moves[i]
		if !s.migration(m) {
			continue
		}
		for _, h := range []cluster.HostID{m.From, m.To} {
			if s.busy[h] > int64(s.limits.Of(&s.c.Hosts[h])) {
				return false
			}
		}
	}
	ends := func(k int) bool {
		return !slices.ContainsFunc(s.steps[k], func(i int) bool {
			m := &s.plan.Moves[i]
			return s.migration(m) && s.together(m) > 1 && migrate.Link(s.c, m.Step)/s.together(m) <= s.c.VMs[m.VM].Demand.Dirty
		})
	}
	return ends(k) && !slices.ContainsFunc(now, func(o int) bool { return !ends(o) })
}

// together is the number of migrations that share the link of one.
func (s *stager) together(m *advice.Move) int64 { return max(1, s.busy[m.From], s.busy[m.To]) }

// seconds is the duration of a move beside the others of its stage, and whether its VM must be
// paused for it.
func (s *stager) seconds(m *advice.Move) (seconds int64, stopped bool) {
	if !s.migration(m) {
		return 0, false
	}
	many := s.together(m)
	if seconds = migrate.Shared(s.c, m.Step, many); seconds > 0 {
		return seconds, false
	}
	return max(1, many*s.c.VMs[m.VM].Memory/max(1, migrate.Link(s.c, m.Step))), true
}
