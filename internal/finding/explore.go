package finding

import (
	"math"
	"slices"

	"plimsoll/internal/stat"
)

// exploreShare is the share of false ones among exploratory differences that
// Benjamini-Hochberg keeps.
const exploreShare = 0.10

// exploreLevel is the confidence level of exploratory intervals.
const exploreLevel = 0.95

// explore compares everything that is not a headline: other metrics of the
// workload, counters, and what is derived from them. Blocks are few and counters
// many, so the counters of an arm share what they know of the noise (moderated t).
// None of these is ever "better" or "worse".
func (c *Case) explore() []Comparison {
	v := c.arrange()
	byArm := make([]exploration, v.arms)
	for i := range v.columns {
		col := &v.columns[i]
		if slices.Contains(c.Study.Headline, col.metric.Name) {
			continue
		}
		p := v.pair(col)
		for arm := 1; arm < v.arms; arm++ {
			byArm[arm].add(&p, arm)
		}
	}
	var all []Comparison
	for arm := 1; arm < v.arms; arm++ {
		all = append(all, byArm[arm].finish()...)
		if byArm[arm].spread.Counters > 0 {
			f := byArm[arm].spread
			v.families = append(v.families, Family{Arm: arm, Counters: f.Counters, DF: f.DF, SD: f.SD})
		}
	}
	for i, adjusted := range stat.BenjaminiHochberg(pValues(all)) {
		all[i].Adjusted = adjusted
		all[i].Verdict = all[i].exploreVerdict(c.Study.Margin)
	}
	return all
}

// exploration gathers the comparisons of one arm.
type exploration struct {
	all     []Comparison
	family  [][]float64 // log-ratios that share their spread
	members []int       // place in all of each member of the family
	spread  stat.Family
}

// add takes in one metric. What stayed exactly as it was, such as the number of
// CPUs, is no question to ask.
func (e *exploration) add(p *pairing, arm int) {
	if p.kind != byRatio {
		if one := p.compare(arm, exploreLevel); one.Blocks > 0 && (one.P < 1 || p.kind == byCount) {
			e.all = append(e.all, one)
		}
		return
	}
	d := differences(p.cells, arm)
	if !slices.ContainsFunc(d, func(x float64) bool { return x != 0 }) {
		return
	}
	e.members = append(e.members, len(e.all))
	e.family = append(e.family, d)
	e.all = append(e.all, absent(p.col.metric, arm))
}

func (e *exploration) finish() []Comparison {
	moderated, spread := stat.ModeratedT(e.family, exploreLevel)
	for i, p := range moderated {
		one := &e.all[e.members[i]]
		one.fill(p)
		one.Method = ByFamily
	}
	for i := range e.all {
		e.all[i].Level = exploreLevel
	}
	e.spread = spread
	return e.all
}

// exploreVerdict keeps to the interval: what is called different is significant
// among all exploratory comparisons and by its own interval.
func (c *Comparison) exploreVerdict(margin float64) Verdict {
	if c.Blocks < stat.LeastBlocks {
		c.Least = stat.LeastBlocks
		return NotEnoughRuns
	}
	shown := c.Adjusted <= exploreShare && c.P <= 1-exploreLevel
	answer := stat.Judge(math.Log(c.Low), math.Log(c.High), margin)
	switch {
	case c.Counts != nil && c.Counts.Failed+c.Counts.BaselineFailed == 0:
		return c.failureVerdict(exploreShare, margin)
	case c.NoInterval && shown:
		return Different
	case c.NoInterval:
		return NotEnoughRuns
	case answer == stat.Equivalent && c.Counts == nil:
		return Equivalent
	case !shown || answer == stat.Undecided:
		return NotEnoughRuns
	case answer == stat.Above || answer == stat.Below:
		return Changed
	}
	return Different
}
