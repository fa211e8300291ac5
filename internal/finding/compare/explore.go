package compare

import (
	"math"
	"slices"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/table"
	"plimsoll/internal/stat"
)

// exploreShare is the false discovery rate of exploratory differences.
const exploreShare = 0.10

// ExploreLevel is the confidence level of exploratory intervals.
const ExploreLevel = 0.95

// Explore compares all metrics that are not headlines: other metrics of the workload,
// counters, and those derived from them. Blocks are few and counters many, so the counters of
// an arm share a prior variance (moderated t). None is ever "better" or "worse".
func Explore(t *table.Table) (all []finding.Comparison, families []finding.Family) {
	byArm := make([]exploration, t.Arms)
	for i := range t.Columns {
		col := &t.Columns[i]
		if slices.Contains(t.Study.Headline, col.Metric.Name) {
			continue
		}
		p := pair(t, col)
		for arm := 1; arm < t.Arms; arm++ {
			byArm[arm].add(&p, arm)
		}
	}
	for arm := 1; arm < t.Arms; arm++ {
		all = append(all, byArm[arm].finish()...)
		if byArm[arm].spread.Counters > 0 {
			f := byArm[arm].spread
			families = append(families, finding.Family{Arm: arm, Counters: f.Counters, DF: f.DF, SD: f.SD})
		}
	}
	for i, adjusted := range stat.BenjaminiHochberg(pValues(all)) {
		all[i].Adjusted = adjusted
		all[i].Verdict = exploreVerdict(&all[i], t.Study.Margin)
	}
	markOwnLoads(t, all)
	markDegraded(t.Mean, all)
	return all, families
}

// exploration gathers the comparisons of one arm.
type exploration struct {
	all     []finding.Comparison
	family  [][]float64 // log-ratios with a common prior of the variance
	members []int       // index into all of each member of the family
	spread  stat.Family
}

// add compares one metric. A constant, such as the number of CPUs, is skipped.
func (e *exploration) add(p *pairing, arm int) {
	if p.kind != byRatio {
		if one := p.compare(arm, ExploreLevel); one.Blocks > 0 && (one.P < 1 || p.kind == byCount) {
			e.all = append(e.all, one)
		}
		return
	}
	d := table.Differences(p.cells, arm)
	if !slices.ContainsFunc(d, func(x float64) bool { return x != 0 }) {
		return
	}
	e.members = append(e.members, len(e.all))
	e.family = append(e.family, d)
	e.all = append(e.all, absent(p.col.Metric, arm))
}

func (e *exploration) finish() []finding.Comparison {
	moderated, spread := stat.ModeratedT(e.family, ExploreLevel)
	for i, p := range moderated {
		one := &e.all[e.members[i]]
		fill(one, p)
		one.Method = finding.ByFamily
	}
	for i := range e.all {
		e.all[i].Level = ExploreLevel
	}
	e.spread = spread
	return e.all
}

// exploreVerdict requires both: significance among all exploratory comparisons, and an
// interval that excludes 0.
func exploreVerdict(c *finding.Comparison, margin float64) finding.Verdict {
	if c.Blocks < stat.LeastBlocks {
		c.Least = stat.LeastBlocks
		return finding.NotEnoughRuns
	}
	shown := c.Adjusted <= exploreShare && c.P <= 1-ExploreLevel
	answer := stat.Judge(math.Log(c.Low), math.Log(c.High), margin)
	switch {
	case c.Counts != nil && c.Counts.Failed+c.Counts.BaselineFailed == 0:
		return failureVerdict(c, exploreShare, margin)
	case c.NoInterval && shown:
		return finding.Different
	case c.NoInterval:
		return finding.NotEnoughRuns
	case answer == stat.Equivalent && c.Counts == nil:
		return finding.Equivalent
	case !shown || answer == stat.Undecided:
		return finding.NotEnoughRuns
	case answer == stat.Above || answer == stat.Below:
		return finding.Changed
	}
	return finding.Different
}
