package finding

import (
	"math"

	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
	"plimsoll/internal/stat"
)

// headlines compares each arm with the baseline in each metric that the study
// declared as a headline. Holm's correction runs over all of them: a difference
// counts only where it survives that, so that many headlines do not breed verdicts.
func (c *Case) headlines() []Comparison {
	v := c.arrange()
	var all []Comparison
	var samples [][]float64
	for _, name := range c.Study.Headline {
		at, known := v.byName[name]
		var p pairing
		if known {
			p = v.pair(&v.columns[at])
		}
		for arm := 1; arm < v.arms; arm++ {
			one := absent(c.metric(name), arm)
			var d []float64
			if known {
				one = p.compare(arm, c.Plan.Level)
				d = c.refine(&one, &p)
			}
			all, samples = append(all, one), append(samples, d)
		}
	}
	for i, adjusted := range stat.Holm(pValues(all)) {
		all[i].Adjusted = adjusted
		c.decide(&all[i], samples[i], len(all))
	}
	return all
}

// metric is the metric of the case with the name.
func (c *Case) metric(name string) measure.Metric {
	for _, list := range [][]measure.Metric{c.Metrics, c.Sources} {
		for _, m := range list {
			if m.Name == name {
				return m
			}
		}
	}
	return measure.Metric{Name: name, Unit: "1"}
}

// refine adds what only headlines get: the interval of the plan's kind, and the
// sign-flip test. It returns the log-ratios, where there are any.
func (c *Case) refine(one *Comparison, p *pairing) []float64 {
	d := differences(p.cells, one.Arm)
	if len(d) == 0 {
		return nil
	}
	if n := c.pilot(p.cells, one.Arm); p.kind == byRatio && n >= 2 {
		one.Pilot = n
		mean, low, high := stat.SteinInterval(d, n, c.Plan.Level)
		one.fill(stat.Paired{N: len(d), Mean: mean, Low: low, High: high, P: stat.SteinP(d, n)})
	}
	one.Flip = stat.SignFlip(d, c.Plan.Seed)
	one.LeansOnNormality = len(d) >= stat.LeastBlocks && (one.P <= 0.05) != (one.Flip <= 0.05)
	if p.kind != byRatio {
		return nil
	}
	return d
}

// pilot is the number of pilot blocks that compare the arm, in a study that asked for
// a precision: they decided how many blocks there would be, and so their spread
// alone counts. 0 in other studies.
func (c *Case) pilot(cells [][]float64, arm int) int {
	if c.Study.Measure.Precision <= 0 {
		return 0
	}
	n := 0
	for b, key := range c.view.blocks {
		if key.phase == plan.PhasePilot && !math.IsNaN(cells[0][b]) && !math.IsNaN(cells[arm][b]) {
			n++
		}
	}
	return n
}

// decide gives the verdict. tests is the number of comparisons that were corrected
// together.
func (c *Case) decide(one *Comparison, d []float64, tests int) {
	alpha := 1 - c.Plan.Level
	one.Verdict = NotEnoughRuns
	switch {
	case one.Counts != nil:
		one.Verdict = one.failureVerdict(alpha, c.Study.Margin)
	case one.Blocks < stat.LeastBlocks:
	case one.NoInterval:
		if one.Adjusted <= alpha {
			one.Verdict = Different
		}
	default:
		answer := stat.Judge(math.Log(one.Low), math.Log(one.High), c.Study.Margin)
		if answer == stat.Equivalent || one.Adjusted <= alpha {
			one.Verdict = verdictOf(answer, one.Metric.Better)
		}
	}
	if one.Verdict == NotEnoughRuns && d != nil {
		// Bonferroni's level stands in for Holm's, which depends on the other tests.
		if more := stat.MoreBlocks(d, c.Study.Margin, 1-alpha/float64(tests)); more < stat.MostBlocks {
			one.More = more
		}
	}
}

// verdictOf turns an answer about the value into one about the metric.
func verdictOf(a stat.Answer, better measure.Direction) Verdict {
	switch a {
	case stat.Undecided:
		return NotEnoughRuns
	case stat.Equivalent:
		return Equivalent
	case stat.Above, stat.Below:
		switch {
		case better == measure.Neutral:
			return Different
		case (a == stat.Above) == (better == measure.HigherIsBetter):
			return Better
		}
		return Worse
	}
	return Different
}

// failureVerdict judges counts. Where neither arm failed, both are equivalent if
// the failures that so many operations still allow are fewer than the margin.
func (c *Comparison) failureVerdict(alpha, margin float64) Verdict {
	n := c.Counts
	failed, baseline := tally{n.Failed, n.Operations}, tally{n.BaselineFailed, n.BaselineOperations}
	switch {
	case c.Blocks < stat.LeastBlocks:
		return NotEnoughRuns
	case n.Failed+n.BaselineFailed == 0:
		if math.Max(stat.ZeroFailuresBound(n.Operations), stat.ZeroFailuresBound(n.BaselineOperations)) < margin {
			return Equivalent
		}
		return NotEnoughRuns
	case c.Adjusted > alpha:
		return NotEnoughRuns
	case !c.NoInterval && c.Low <= 1+margin && c.High >= 1/(1+margin):
		return Different
	case failed.share() > baseline.share():
		return Worse
	}
	return Better
}

// markOwnLoads marks comparisons of latency between arms of a closed loop that do
// not carry the same load. More load means more queueing, so that the two latencies
// answer different questions.
func (c *Case) markOwnLoads(all []Comparison) {
	same := make([]bool, c.view.arms)
	for arm := range same {
		same[arm] = c.openLoop(arm) || c.sameLoad(arm)
	}
	for i := range all {
		m := all[i].Metric
		at, known := c.view.byName[m.Name]
		latency := known && c.view.columns[at].origin == ofWorkload && m.Unit == "s" && m.Better == measure.LowerIsBetter
		all[i].OwnLoad = latency && !same[all[i].Arm]
	}
}

// openLoop says whether the arm offers a rate of its own.
func (c *Case) openLoop(arm int) bool { return c.Demands[arm].Rate > 0 || c.Study.Load.Rate > 0 }

// sameLoad says whether the arm carried the load of the baseline to within the
// margin, by the estimate.
func (c *Case) sameLoad(arm int) bool {
	if a, b := c.Demands[0].Concurrency, c.Demands[arm].Concurrency; a != b && a > 0 && b > 0 {
		return false
	}
	x, ok := c.Mean(0, c.Rate)
	y, found := c.Mean(arm, c.Rate)
	return !ok || !found || x <= 0 || y <= 0 || math.Abs(math.Log(y/x)) <= math.Log1p(c.Study.Margin)
}
