// Package compare compares the arms of a study with its baseline: headlines, exploratory
// metrics, and unpaired runs.
package compare

import (
	"math"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/table"
	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
	"plimsoll/internal/stat"
)

// Headlines compares each arm with the baseline in each headline. Intervals are simultaneous
// over all headlines and looks.
func Headlines(t *table.Table) []finding.Comparison {
	var all []finding.Comparison
	for _, name := range t.Study.Headline {
		col := t.Column(name)
		var p pairing
		if col != nil {
			p = pair(t, col)
		}
		for arm := 1; arm < t.Arms; arm++ {
			one := absent(t.Metric(name), arm)
			var e stat.Effect
			if col != nil {
				one, e = headline(t, &p, arm)
			}
			one.Level = t.Plan.Level
			one.Adjusted = math.Min(1, one.P*(1-t.Plan.Level)/t.Plan.Alpha())
			decide(t, &one, e)
			all = append(all, one)
		}
	}
	markOwnLoads(t, all)
	markDegraded(t.Mean, all)
	return all
}

// headline compares an arm with the baseline. The effect is the basis of the interval; it is
// empty without a log-ratio.
func headline(t *table.Table, p *pairing, arm int) (one finding.Comparison, e stat.Effect) {
	alpha := t.Plan.Alpha()
	if p.kind != byRatio {
		return p.compare(arm, 1-alpha), e
	}
	blocks, numbers := paired(t, p.cells, arm)
	one = absent(p.col.Metric, arm)
	if len(blocks) == 0 {
		return one, e
	}
	d := table.Differences(p.cells, arm)
	if n := pilot(t, p.cells, arm); n >= 2 {
		e = stat.SteinEffect(d, n, alpha)
		take(&one, e, nil)
		one.Pilot, one.Method = n, finding.ByPilot
	} else {
		e = stat.Contrast(blocks, alpha)
		take(&one, e, numbers)
	}
	one.SignedRank = stat.SignedRank(e.WithoutOrder(blocks))
	one.LeansOnNormality = len(d) >= t.Plan.Least() && one.P <= alpha && one.SignedRank > 0.05
	return one, e
}

// take sets the fields of an effect. numbers are the numbers of its blocks.
func take(c *finding.Comparison, e stat.Effect, numbers []int) {
	c.Blocks, c.P = e.N, e.P
	c.Ratio, c.Low, c.High = math.Exp(e.Mean), math.Exp(e.Low), math.Exp(e.High)
	c.NoInterval = math.IsInf(c.High, 0) || math.IsNaN(c.Low+c.High)
	if c.NoInterval {
		c.Low, c.High = c.Ratio, c.Ratio
		return
	}
	c.Method, c.SE, c.DF, c.Critical = finding.Method(e.Method), e.SE, e.DF, e.Critical
	if numbers != nil && max(e.Far[0], e.Far[1]) > 0 {
		c.Far = &finding.Outliers{Baseline: e.Far[0], Arm: e.Far[1]}
	}
	if e.Unbalanced || e.Slope != 0 {
		c.Covariate = &finding.Covariate{Slope: e.Slope, Unbalanced: e.Unbalanced}
	}
	for _, b := range e.Outlying {
		c.Outlying = append(c.Outlying, numbers[b])
	}
	if o := e.Order; !math.IsNaN(e.OrderMean) && !math.IsInf(math.Exp(o.High), 0) {
		c.Order = &finding.Order{Ratio: math.Exp(e.OrderMean), Low: math.Exp(o.Low), High: math.Exp(o.High)}
	}
}

// paired are the blocks with an arm and the baseline, with their numbers.
func paired(t *table.Table, cells [][]float64, arm int) (blocks []stat.Block, numbers []int) {
	shares, wanted := t.Stolen()
	stolen := func(arm, b int) stat.Covariate { return stat.Covariate{Share: shares[arm][b], Demand: wanted[arm][b]} }
	for b, x := range cells[arm] {
		if y := cells[0][b]; !math.IsNaN(x) && !math.IsNaN(y) {
			blocks = append(blocks, stat.Block{
				Base: y, BaseAt: t.Position[0][b], BaseCovariate: stolen(0, b), Arm: x, ArmAt: t.Position[arm][b], ArmCovariate: stolen(arm, b),
			})
			numbers = append(numbers, t.Blocks[b].Number)
		}
	}
	return blocks, numbers
}

// pilot is the number of pilot blocks that compare the arm in a study with a precision goal,
// where only their variance may be used. 0 in other studies.
func pilot(t *table.Table, cells [][]float64, arm int) int {
	if t.Study.Measure.Precision <= 0 {
		return 0
	}
	n := 0
	for b, key := range t.Blocks {
		if key.Phase == plan.PhasePilot && !math.IsNaN(cells[0][b]) && !math.IsNaN(cells[arm][b]) {
			n++
		}
	}
	return n
}

// decide sets the verdict or, without one, what would lead to one.
func decide(t *table.Table, one *finding.Comparison, e stat.Effect) {
	one.Verdict = finding.NotEnoughRuns
	least := t.Plan.Least()
	switch {
	case one.Blocks < least:
		one.Least = least
		return
	case one.Counts != nil:
		one.Verdict = failureVerdict(one, 1-t.Plan.Level, t.Study.Margin)
		return
	case one.NoInterval:
		if one.Adjusted <= 1-t.Plan.Level {
			one.Verdict = finding.Different
		}
		return
	}
	one.Verdict = VerdictOf(stat.Judge(math.Log(one.Low), math.Log(one.High), t.Study.Margin), one.Metric.Better)
	if one.Verdict == finding.NotEnoughRuns {
		advise(t, one, e)
	}
}

// farOff is the multiple of the planned blocks beyond which no number of blocks is advised.
const farOff = 2

// advise computes the number of further blocks for a decision or, if that is far above the
// plan, the margin within reach.
func advise(t *table.Table, one *finding.Comparison, e stat.Effect) {
	alpha, planned := t.Plan.Alpha(), max(t.Plan.Most, one.Blocks)
	if more := stat.MoreBlocks(e, t.Study.Margin, alpha); one.Blocks+more <= farOff*planned {
		one.More = more
		return
	}
	if margin := stat.MarginWithinReach(e, planned, alpha); !math.IsInf(margin, 0) && !math.IsNaN(margin) {
		one.Reach = &finding.Reach{Margin: margin, Blocks: planned}
	}
}

// VerdictOf converts a decision about the value into a verdict on the metric.
func VerdictOf(a stat.Answer, better measure.Direction) finding.Verdict {
	switch a {
	case stat.Undecided:
		return finding.NotEnoughRuns
	case stat.Equivalent:
		return finding.Equivalent
	case stat.Above, stat.Below:
		switch {
		case better == measure.Neutral:
			return finding.Changed
		case (a == stat.Above) == (better == measure.HigherIsBetter):
			return finding.Better
		}
		return finding.Worse
	}
	return finding.Different
}

// failureVerdict is the verdict on counts. Without failures, both arms are equivalent if the
// upper bounds of their failure rates are below the margin.
func failureVerdict(c *finding.Comparison, alpha, margin float64) finding.Verdict {
	n := c.Counts
	failed, baseline := tally{n.Failed, n.Operations}, tally{n.BaselineFailed, n.BaselineOperations}
	switch {
	case c.Blocks < stat.LeastBlocks:
		return finding.NotEnoughRuns
	case n.Failed+n.BaselineFailed == 0:
		if math.Max(stat.ZeroFailuresBound(n.Operations), stat.ZeroFailuresBound(n.BaselineOperations)) < margin {
			return finding.Equivalent
		}
		return finding.NotEnoughRuns
	case c.Adjusted > alpha:
		return finding.NotEnoughRuns
	case !c.NoInterval && c.Low <= 1+margin && c.High >= 1/(1+margin):
		return finding.Different
	case failed.share() > baseline.share():
		return finding.Worse
	}
	return finding.Better
}

// markOwnLoads marks comparisons of latency between arms of a closed loop with different
// rates: a higher load means more queueing, so the latencies are not comparable.
func markOwnLoads(t *table.Table, all []finding.Comparison) {
	same := make([]bool, t.Arms)
	for arm := range same {
		same[arm] = t.OpenLoop(arm) || t.SameLoad(arm)
	}
	for i := range all {
		m := all[i].Metric
		col := t.Column(m.Name)
		latency := col != nil && col.Origin == table.Workload && m.Unit == "s" && m.Better == measure.LowerIsBetter
		all[i].OwnLoad = latency && !same[all[i].Arm]
	}
}
