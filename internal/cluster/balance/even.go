package balance

import (
	"fmt"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/place"
)

// pairwise is the difference between two hosts, in millionths, that is worth a look at
// each level, and at level 1 none is.
//
// Source: Denneman, "Load balancing vSphere clusters with DRS" (6.5).
var pairwise = [6]int64{0, 0, 300_000, 200_000, 100_000, 50_000}

// target is the standard deviation up to which loads count as even: that at which the
// priority 6 - ceil(I / 0.1 * sqrt(hosts)) of a move falls below the level.
//
// Source: VMware, "Calculating the priority level of a DRS migration recommendation".
func target(level, hosts int) int64 {
	return int64(5-level) * 100_000 * 1000 / int64(max(1, root(uint64(hosts)*million)))
}

// mostRefused is how many moves that were not made are told.
const mostRefused = 5

// even moves machines one by one, each time the one that betters the layout most of those
// that are worth it, until it is good enough or none is.
func (r *round) even() {
	level := r.c.Settings.Level
	if level <= 1 {
		r.plan.Quiet = "level 1 moves machines only where they must"
		return
	}
	r.busyWith(r.plan.Moves)
	r.survey()
	for moves := 0; ; moves++ {
		if r.plan.Quiet = r.settled(); r.plan.Quiet != "" {
			return
		}
		if most := r.c.Settings.MostMoves; most > 0 && moves == most {
			r.plan.Quiet = fmt.Sprintf("%d moves are enough for one round", most)
			return
		}
		best, found := r.bestThatSpares()
		if !found {
			r.refuse(r.notMade())
			return
		}
		why := FairCPU
		if p := loads(r.l, r.x, best.Step.From); p.Memory > p.CPU {
			why = FairMemory
		}
		r.move(best.Step, why, cluster.Nowhere, best.Value)
		r.spend(best.Step)
		r.changed(best.Step)
	}
}

// settled is why the layout is good enough; empty when it is not.
func (r *round) settled() string {
	if r.byScore {
		return r.scoresSettled()
	}
	b := evenness(r.l, r.x)
	n, level := 0, r.c.Settings.Level
	for h := range r.c.Hosts {
		if r.c.Hosts[h].Usable() {
			n++
		}
	}
	t, p := target(level, n), pairwise[min(level, 5)]
	if max(b.Deviation.CPU, b.Deviation.Memory) > t || max(b.Spread.CPU, b.Spread.Memory) > p {
		return ""
	}
	return fmt.Sprintf("the hosts' loads lie %.1f points apart at most, with a deviation of %.1f: level %d lets them lie %.0f apart, with %.1f",
		points(max(b.Spread.CPU, b.Spread.Memory)), points(max(b.Deviation.CPU, b.Deviation.Memory)), level, points(p), points(t))
}

// points is a share in millionths as per cent.
func points(v int64) float64 { return float64(v) / 10_000 }

// candidate is a step with what it brings.
type candidate struct {
	place.Step
	Value Value
	merit int64
	con   con
}

// better orders candidates.
func (c *candidate) better(o *candidate) bool {
	return c.merit > o.merit || c.merit == o.merit && before(c.Step, o.Step)
}

// notMade lists the moves that would bring most and are not made.
func (r *round) notMade() (list []candidate) {
	r.eachPair(func(from, to cluster.HostID) {
		n := r.lane(from, to)
		for _, v := range r.l.On(from) {
			if !r.mayMove(v) {
				continue
			}
			c := candidate{Step: place.Step{VM: v, From: from, To: to}}
			if c.merit, _ = n.merit(v); c.merit > 0 && (len(list) < mostRefused || c.better(&list[len(list)-1])) {
				if _, c.con = r.against(c.Step, c.merit); c.con >= neverCopied {
					c.Value = r.value(c.Step)
				}
				list = keep(list, c)
			}
		}
	})
	return list
}

// before orders steps that are equally good, so that a plan is the same in whatever
// order machines are listed.
func before(a, b place.Step) bool {
	if a.VM != b.VM {
		return a.VM < b.VM
	}
	return a.To < b.To
}

// keep is a short list of the candidates that would bring most.
func keep(list []candidate, c candidate) []candidate {
	i := len(list)
	for i > 0 && (list[i-1].merit < c.merit || list[i-1].merit == c.merit && before(c.Step, list[i-1].Step)) {
		i--
	}
	if i >= mostRefused {
		return list
	}
	list = append(list, candidate{})
	copy(list[i+1:], list[i:])
	list[i] = c
	return list[:min(len(list), mostRefused)]
}

func (r *round) means() Pair {
	var demand, all cluster.Resources
	for h := range r.c.Hosts {
		if id := cluster.HostID(h); r.c.Hosts[h].Usable() {
			demand, all = demand.Plus(r.l.Demand(id)), all.Plus(r.x.Capacity(id))
		}
	}
	return Pair{load(demand.CPU, all.CPU), load(demand.Memory, all.Memory)}
}

// refuse says why nothing more is moved though the layout is not good enough.
func (r *round) refuse(refused []candidate) {
	for _, c := range refused {
		r.plan.Refused = append(r.plan.Refused, Refused{c.Step, c.Value, r.words(c.Step, c.Value, c.con)})
	}
	state, none := fmt.Sprintf("the cluster's score is %.1f of 100", points(r.score())), "no machine that may move would raise it"
	if !r.byScore {
		b := evenness(r.l, r.x)
		state, none = fmt.Sprintf("the hosts' loads lie %.1f points apart", points(max(b.Spread.CPU, b.Spread.Memory))), "no machine that may move would bring them closer"
	}
	if len(refused) == 0 {
		r.plan.Quiet = state + ", and " + none
		return
	}
	verdict := "no move is worth it"
	if refused[0].con == tooLate {
		verdict = "there is no time for more moves"
	}
	r.plan.Quiet = fmt.Sprintf("%s, and %s; the best would be %s from %s to %s: %s", state, verdict,
		r.c.VMs[refused[0].VM].Name, r.c.Hosts[refused[0].From].Name, r.c.Hosts[refused[0].To].Name, r.plan.Refused[0].Why)
}
