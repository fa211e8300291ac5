package finding

import (
	"math"

	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
	"plimsoll/internal/stat"
)

// headlines compares each arm with the baseline in each metric that the study
// declared as a headline. Their intervals hold together, over all headlines and
// looks, so that many headlines do not breed verdicts.
func (c *Case) headlines() []Comparison {
	v := c.arrange()
	var all []Comparison
	for _, name := range c.Study.Headline {
		at, known := v.byName[name]
		var p pairing
		if known {
			p = v.pair(&v.columns[at])
		}
		for arm := 1; arm < v.arms; arm++ {
			one := absent(c.metric(name), arm)
			var e stat.Effect
			if known {
				one, e = c.headline(&p, arm)
			}
			one.Level = c.Plan.Level
			one.Adjusted = math.Min(1, one.P*(1-c.Plan.Level)/c.Plan.Alpha())
			c.decide(&one, e)
			all = append(all, one)
		}
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

// headline compares an arm with the baseline. The effect says what the interval
// rests on; it is empty where there is no ratio of logarithms.
func (c *Case) headline(p *pairing, arm int) (one Comparison, e stat.Effect) {
	alpha := c.Plan.Alpha()
	if p.kind != byRatio {
		return p.compare(arm, 1-alpha), e
	}
	blocks, numbers := c.view.paired(p.cells, arm)
	one = absent(p.col.metric, arm)
	if len(blocks) == 0 {
		return one, e
	}
	d := differences(p.cells, arm)
	if n := c.pilot(p.cells, arm); n >= 2 {
		e = stat.SteinEffect(d, n, alpha)
		one.take(e, nil)
		one.Pilot, one.Method = n, ByPilot
	} else {
		e = stat.Contrast(blocks, alpha)
		one.take(e, numbers)
	}
	one.SignedRank = stat.SignedRank(e.WithoutOrder(blocks))
	one.LeansOnNormality = len(d) >= c.Plan.Least() && one.P <= alpha && one.SignedRank > 0.05
	return one, e
}

// take fills in an effect. numbers are those of its blocks.
func (c *Comparison) take(e stat.Effect, numbers []int) {
	c.Blocks, c.P = e.N, e.P
	c.Ratio, c.Low, c.High = math.Exp(e.Mean), math.Exp(e.Low), math.Exp(e.High)
	c.NoInterval = math.IsInf(c.High, 0) || math.IsNaN(c.Low+c.High)
	if c.NoInterval {
		c.Low, c.High = c.Ratio, c.Ratio
		return
	}
	c.Method, c.SE, c.DF, c.Critical = Method(e.Method), e.SE, e.DF, e.Critical
	if numbers != nil && max(e.Far[0], e.Far[1]) > 0 {
		c.Far = &Far{Baseline: e.Far[0], Arm: e.Far[1]}
	}
	for _, b := range e.Outlying {
		c.Outlying = append(c.Outlying, numbers[b])
	}
	if o := e.Order; !math.IsNaN(e.OrderMean) && !math.IsInf(math.Exp(o.High), 0) {
		c.Order = &Order{Ratio: math.Exp(e.OrderMean), Low: math.Exp(o.Low), High: math.Exp(o.High)}
	}
}

// paired are the blocks that hold an arm and the baseline, with their numbers.
func (v *view) paired(cells [][]float64, arm int) (blocks []stat.Block, numbers []int) {
	for b, x := range cells[arm] {
		if y := cells[0][b]; !math.IsNaN(x) && !math.IsNaN(y) {
			blocks = append(blocks, stat.Block{Base: y, Arm: x, BaseAt: v.position[0][b], ArmAt: v.position[arm][b]})
			numbers = append(numbers, v.blocks[b].block)
		}
	}
	return blocks, numbers
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

// decide gives the verdict, and where there is none, what would give one.
func (c *Case) decide(one *Comparison, e stat.Effect) {
	one.Verdict = NotEnoughRuns
	least := c.Plan.Least()
	switch {
	case one.Blocks < least:
		one.Least = least
		return
	case one.Counts != nil:
		one.Verdict = one.failureVerdict(1-c.Plan.Level, c.Study.Margin)
		return
	case one.NoInterval:
		if one.Adjusted <= 1-c.Plan.Level {
			one.Verdict = Different
		}
		return
	}
	one.Verdict = verdictOf(stat.Judge(math.Log(one.Low), math.Log(one.High), c.Study.Margin), one.Metric.Better)
	if one.Verdict == NotEnoughRuns {
		c.advise(one, e)
	}
}

// farOff is how many times the planned blocks are no advice any more.
const farOff = 2

// advise says how many more blocks would decide or, where those are far more than
// were planned, which margin is within reach.
func (c *Case) advise(one *Comparison, e stat.Effect) {
	alpha, planned := c.Plan.Alpha(), max(c.Plan.Most, one.Blocks)
	if more := stat.MoreBlocks(e, c.Study.Margin, alpha); one.Blocks+more <= farOff*planned {
		one.More = more
		return
	}
	if margin := stat.MarginWithinReach(e, planned, alpha); !math.IsInf(margin, 0) && !math.IsNaN(margin) {
		one.Reach = &Reach{Margin: margin, Blocks: planned}
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
			return Changed
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
