// Package goal decides when a cluster is balanced well enough.
package goal

import (
	"fmt"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/balance/draft"
	"plimsoll/internal/cluster/balance/relief"
	"plimsoll/internal/cluster/contention"
)

const million = 1_000_000

// pairwise is the difference between two hosts that each level tolerates, in millionths; level
// 1 tolerates any.
//
// Source: Denneman, "Load balancing vSphere clusters with DRS" (6.5).
var pairwise = [6]int64{0, 0, 300_000, 200_000, 100_000, 50_000}

// target is the highest standard deviation of loads that counts as even: where the priority 6
// - ceil(I / 0.1 * sqrt(hosts)) of a move falls below the level.
//
// Source: VMware, "Calculating the priority level of a DRS migration recommendation".
func target(level, hosts int) int64 {
	return int64(5-level) * 100_000 * 1000 / int64(max(1, contention.Root(uint64(hosts)*million)))
}

// Goal is the balance that a round aims for.
type Goal struct {
	d      *draft.Draft
	relief *relief.Relief
	rise   rise // the last that was found
}

// New is the goal of a draft.
func New(d *draft.Draft, f *relief.Relief) *Goal { return &Goal{d: d, relief: f} }

// Reached is why the layout is good enough; empty if it is not.
func (g *Goal) Reached() string {
	d, hosts, idle := g.d, 0, true
	for h := range d.Cluster.Hosts {
		if d.Cluster.Hosts[h].Usable() {
			hosts++
		}
		idle = idle && len(d.Layout.On(cluster.HostID(h))) == 0
	}
	switch {
	case idle:
		return "no VM runs"
	case hosts < 2:
		return "fewer than two hosts can be used, and no load can move"
	}
	if d.Model.ByScore {
		return g.scores()
	}
	b := d.Evenness()
	deviation, spread, by := tolerance(d, hosts)
	if g.relief.Starved() || b.Deviation.Max() > deviation || b.Spread.Max() > spread {
		return ""
	}
	return fmt.Sprintf("the hosts' loads differ by at most %.1f points, with a deviation of %.1f: %s tolerates %.0f and %.1f",
		advice.Points(b.Spread.Max()), advice.Points(b.Deviation.Max()), by, advice.Points(spread), advice.Points(deviation))
}

// tolerance is the deviation and the difference of loads that count as even, and what sets
// them: the level, or level 5 without cost-benefit, where the spread alone decides.
func tolerance(d *draft.Draft, hosts int) (deviation, difference int64, by string) {
	level := min(d.Cluster.Settings.Level, 5)
	by = fmt.Sprintf("level %d", d.Cluster.Settings.Level)
	if !d.Cluster.Settings.CostBenefit {
		level, by = 5, "a cluster without cost-benefit"
	}
	return target(level, hosts), pairwise[level], by
}

// scores is why scores are high enough; empty if they are not. A cluster is unbalanced if some
// VM's score could rise by the cost of the load difference that the level tolerates.
func (g *Goal) scores() string {
	level := g.d.Cluster.Settings.Level
	few := pairwise[min(level, 5)] / 4
	most := g.mostRise(few)
	if most > few {
		return ""
	}
	return fmt.Sprintf("the cluster's score is %.1f of 100, and no VM would score more than %.1f points higher on another host: level %d tolerates %.1f",
		advice.Points(g.d.Score()), advice.Points(most), level, advice.Points(few))
}
