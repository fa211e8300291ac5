package balance

import (
	"fmt"

	"plimsoll/internal/cluster"
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
	for h := range r.c.Hosts {
		r.renew(cluster.HostID(h))
	}
	r.heads.sort(r)
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
