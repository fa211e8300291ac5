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
	}
	for i, adjusted := range stat.BenjaminiHochberg(pValues(all)) {
		all[i].Adjusted = adjusted
		all[i].Verdict = c.exploreVerdict(&all[i])
	}
	return all
}

// exploration gathers the comparisons of one arm.
type exploration struct {
	all     []Comparison
	family  [][]float64 // log-ratios that share their spread
	members []int       // place in all of each member of the family
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
	for i, p := range stat.ModeratedT(e.family, exploreLevel) {
		e.all[e.members[i]].fill(p)
	}
	for i := range e.all {
		e.all[i].Flip = e.all[i].P
	}
	return e.all
}

func (c *Case) exploreVerdict(one *Comparison) Verdict {
	switch {
	case one.Blocks < stat.LeastBlocks:
		return NotEnoughRuns
	case one.Counts != nil && one.Counts.Failed+one.Counts.BaselineFailed == 0:
		return one.failureVerdict(exploreShare, c.Study.Margin)
	case one.Adjusted <= exploreShare:
		return Different
	case !one.NoInterval && one.Counts == nil && stat.Judge(math.Log(one.Low), math.Log(one.High), c.Study.Margin) == stat.Equivalent:
		return Equivalent
	}
	return NotEnoughRuns
}
