package balance

import (
	"fmt"
	"math"

	"plimsoll/internal/cluster/contention"
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
	return int64(5-level) * 100_000 * 1000 / int64(max(1, contention.Root(uint64(hosts)*million)))
}

// even moves VMs off one host after the other, each time off the one that has the move
// which betters the layout most, until it is good enough or no host's moves are worth it.
func (r *round) even() {
	level := r.c.Settings.Level
	if level <= 1 {
		r.plan.Quiet = "level 1 moves VMs only where they must"
		return
	}
	r.busyWith(r.plan.Moves)
	r.survey()
	r.relief.measure()
	r.renewAll()
	for begin := len(r.plan.Moves); ; {
		if r.plan.Quiet = r.settled(); r.plan.Quiet != "" {
			return
		}
		left := math.MaxInt
		if most := r.c.Settings.MostMoves; most > 0 {
			if left = most - (len(r.plan.Moves) - begin); left <= 0 {
				r.plan.Quiet = fmt.Sprintf("%d moves are enough for one round", most)
				return
			}
		}
		best, found := r.bestThatSpares()
		if !found && r.relief.shrink() {
			r.renewAll()
			continue
		}
		if !found && r.swaps.make(left) {
			continue
		}
		if !found {
			r.refuse(r.notMade())
			return
		}
		r.relief.off(best.From, left)
	}
}

// settled is why the layout is good enough; empty when it is not.
func (r *round) settled() string {
	if r.byScore {
		return r.scoresSettled()
	}
	b := evenness(r.l, r.x)
	n := 0
	for h := range r.c.Hosts {
		if r.c.Hosts[h].Usable() {
			n++
		}
	}
	t, p := r.tolerance(n)
	if r.relief.starved() || max(b.Deviation.CPU, b.Deviation.Memory) > t || max(b.Spread.CPU, b.Spread.Memory) > p {
		return ""
	}
	return fmt.Sprintf("the hosts' loads lie %.1f points apart at most, with a deviation of %.1f: %s lets them lie %.0f apart, with %.1f",
		points(max(b.Spread.CPU, b.Spread.Memory)), points(max(b.Deviation.CPU, b.Deviation.Memory)), r.measure(), points(p), points(t))
}

// tolerance is the deviation and the difference of loads that count as even: those of the
// level, or of level 5 where moves are not judged by cost and benefit and so the spread alone
// decides.
func (r *round) tolerance(hosts int) (deviation, difference int64) {
	level := min(r.c.Settings.Level, 5)
	if !r.c.Settings.CostBenefit {
		level = 5
	}
	return target(level, hosts), pairwise[level]
}

// measure names what tolerance goes by.
func (r *round) measure() string {
	if !r.c.Settings.CostBenefit {
		return "a cluster without cost-benefit"
	}
	return fmt.Sprintf("level %d", r.c.Settings.Level)
}

// points is a share in millionths as per cent.
func points(v int64) float64 { return float64(v) / 10_000 }
