package finding

import (
	"slices"

	"plimsoll/internal/measure"
)

// Judge says what the records of a case mean. It is pure: the same case gives the
// same findings, in whatever order its records come, and its time grows with the
// number of records.
func Judge(c Case) *Findings {
	c.view = nil
	v := c.arrange()
	f := &Findings{
		Format: Format,
		Study:  c.Study.Name, Question: c.Study.Question, Seed: c.Plan.Seed, Arms: c.Plan.Arms,
		Level: c.Plan.Level, Error: c.Plan.Alpha(), Looks: c.Plan.Looks, Least: c.Plan.Least(), Margin: c.Study.Margin, Planned: c.Plan.Most,
		Blocks: c.completeBlocks(), Trials: len(v.records), Void: v.void(),
		DataFailures: v.dataFailures(),
	}
	f.Summaries = c.summarise()
	f.Peaks = c.peaks()
	v.headlines, v.exploratory = c.headlines(), c.explore()
	c.markOwnLoads(v.headlines)
	c.markOwnLoads(v.exploratory)
	f.Headlines, f.Exploratory, f.Families = v.headlines, v.exploratory, v.families
	f.ScaleOut = c.scaleOut(f)
	for _, metric := range c.Study.Headline {
		f.level(metric)
	}
	for _, list := range [][]Comparison{v.headlines, v.exploratory} {
		for i := range list {
			list[i].say(f)
		}
	}
	f.sayPeaks()
	f.Certificate = c.certificate()
	best := c.best()
	f.Explanations, f.NotJudged = c.explain(best)
	if len(f.DataFailures) == 0 {
		f.Recommendation = Recommend(f, best, nil)
	}
	f.Limits = c.limits(f.Summaries)
	if len(c.Study.Headline) > 0 {
		f.answer(c.Study.Headline[0])
	}
	f.Audit = Audit(f, c.Study.Published)
	return f
}

// completeBlocks counts the blocks in which every arm has a valid trial.
func (c *Case) completeBlocks() int {
	v := c.view
	type cell struct{ arm, block int }
	held := make([]int, len(v.blocks))
	seen := map[cell]bool{}
	for i := range v.valid {
		at := cell{v.valid[i].Arm, v.block[i]}
		if !seen[at] {
			seen[at] = true
			held[at.block]++
		}
	}
	n := 0
	for _, arms := range held {
		if arms == v.arms {
			n++
		}
	}
	return n
}

func (v *view) void() []Void {
	var all []Void
	for _, r := range v.records {
		if !r.Valid() {
			all = append(all, Void{Trial: r.Trial, Arm: r.Arm, Cause: r.Void})
		}
	}
	return all
}

// best is the arm with the largest decided gain in the metric of the goal, or else
// in the first headline; the baseline where no arm has one.
func (c *Case) best() int {
	if len(c.Study.Headline) == 0 {
		return 0
	}
	name := c.Study.Headline[0]
	if g := c.Study.Goal; g != nil && slices.Contains(c.Study.Headline, g.Metric) {
		name = g.Metric
	}
	best, gain := 0, 0.0
	for _, h := range c.view.headlines {
		if h.Metric.Name != name || !decided(h) || h.NoInterval {
			continue
		}
		g := h.Ratio - 1
		if h.Metric.Better == measure.LowerIsBetter {
			g = 1 - h.Ratio
		}
		if h.Metric.Better != measure.Neutral && g > gain {
			best, gain = h.Arm, g
		}
	}
	return best
}
