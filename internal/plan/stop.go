package plan

import (
	"math"
	"slices"

	"plimsoll/internal/measure"
	"plimsoll/internal/stat"
)

// Decision is the result of the last look for one headline of one arm.
type Decision struct {
	Metric  string      `json:"metric"`
	Arm     int         `json:"arm"`
	Blocks  int         `json:"blocks"` // that hold the metric in both arms
	Answer  stat.Answer `json:"answer"`
	Decided bool        `json:"decided"`
}

// pairs are the blocks of one headline with an arm and the baseline, as logarithms; with one
// arm those of the headline itself.
type pairs struct {
	blocks []stat.Block
	zero   bool // some value was 0 or less, which has no logarithm
	live   bool // some value was not 0, or was missing
}

// comparisons is the number of headlines times the arms that are compared.
func (p *Plan) comparisons() int { return len(p.Study.Headline) * max(1, len(p.Arms)-1) }

// comparison names the headline and the arm of a comparison.
func (p *Plan) comparison(i int) (metric string, arm int) {
	others := max(1, len(p.Arms)-1)
	arm = i%others + 1
	if len(p.Arms) == 1 {
		arm = 0
	}
	return p.Study.Headline[i/others], arm
}

// take adds a block to the comparisons of the arms that ran in it.
func (c *Progress) take(block []cell) {
	byArm := make([]*cell, len(c.plan.Arms))
	for i := range block {
		byArm[block[i].arm] = &block[i]
	}
	for i := range c.pairs {
		metric, number := c.plan.comparison(i)
		arm, base := byArm[number], byArm[0]
		if arm == nil || base == nil {
			continue
		}
		against, found := 1.0, true
		if number > 0 {
			against, found = base.values[metric]
		}
		value, ok := arm.values[metric]
		known := ok && found
		c.pairs[i].live = c.pairs[i].live || !known || value != 0 || number > 0 && against != 0
		if known {
			c.pairs[i].add(value, against, arm, base)
		}
	}
}

// stolen is the covariate of a trial.
func stolen(r *measure.Record) stat.Covariate {
	share, wanted := measure.Stolen(r)
	return stat.Covariate{Share: share, Demand: wanted}
}

// add adds the values of a block, unless one is missing.
func (p *pairs) add(value, against float64, arm, base *cell) {
	ratio := value / against
	if value <= 0 || against <= 0 || !(ratio > 0) || math.IsInf(ratio, 0) {
		p.zero = true
		return
	}
	p.blocks = append(p.blocks, stat.Block{
		Base: math.Log(against), BaseAt: float64(base.trial), BaseCovariate: base.stolen,
		Arm: math.Log(value), ArmAt: float64(arm.trial), ArmCovariate: arm.stolen,
	})
}

// assess decides after each complete block whether the course continues.
func (c *Progress) assess() {
	p := c.plan
	switch {
	case p.Looks != nil:
		c.look()
	case p.Pilot > 0 && c.complete == p.Pilot:
		c.secondStage()
	case c.complete < c.target:
	case p.Pilot > 0:
		c.stop(false, "%s give an interval of ±%.3g %%, as was asked for", count(c.complete, "block"), 100*p.Study.Measure.Precision)
	default:
		c.stop(false, "%s, as planned", count(c.complete, "block"))
	}
}

// look decides every headline of every arm at a planned look.
//
// The course stops when each is decided against the margin: beyond it, or within. If an
// interval excludes 0 and crosses the margin, the course continues to the next look. The
// intervals are simultaneous over all looks and headlines, and the findings use the same ones,
// so that no study stops undecided.
func (c *Progress) look() {
	p := c.plan
	if !slices.Contains(p.Looks, c.complete) {
		return
	}
	all := true
	c.looked = make([]Decision, len(c.pairs))
	for i, pair := range c.pairs {
		d := Decision{Blocks: len(pair.blocks), Decided: !pair.live}
		d.Metric, d.Arm = p.comparison(i)
		if len(pair.blocks) >= p.Least() && !pair.zero {
			e := stat.Contrast(pair.blocks, p.Alpha())
			d.Answer = stat.Judge(e.Low, e.High, p.Study.Margin)
			d.Decided = d.Answer == stat.Equivalent || d.Answer == stat.Above || d.Answer == stat.Below
		}
		c.looked[i] = d
		all = all && d.Decided
	}
	switch c.decided = all; {
	case all:
		c.stop(false, "every headline is decided after %s", count(c.complete, "block"))
	case c.complete >= p.Most:
		c.stop(false, "%s, the last planned look, and not every headline is decided", count(c.complete, "block"))
	}
}

// Alpha is the two-sided error of the interval of each comparison at each look.
func (p *Plan) Alpha() float64 {
	if p.Error > 0 {
		return p.Error
	}
	return (1 - p.Level) / float64(p.comparisons())
}

// Least is the fewest blocks for a verdict: with fewer, the exact signed-rank test cannot
// reach the error of a look.
func (p *Plan) Least() int {
	return stat.LeastBlocksAt(p.Alpha() * float64(p.comparisons()))
}

// secondStage computes the number of blocks from the pilot, for the study's precision in every
// headline of every arm.
func (c *Progress) secondStage() {
	p := c.plan
	half := math.Log1p(p.Study.Measure.Precision)
	total, worst := p.Pilot, ""
	for i, pair := range c.pairs {
		metric, _ := p.comparison(i)
		switch {
		case pair.zero && pair.live || pair.live && len(pair.blocks) < 2:
			c.stop(true, "the pilot of %s cannot tell how many give ±%.3g %%: %s was missing or 0 in some trial",
				count(p.Pilot, "block"), 100*p.Study.Measure.Precision, metric)
			return
		case pair.live:
			if n := stat.SteinTotal(stat.Differences(pair.blocks), half, 1-p.Alpha()); n > total {
				total, worst = n, metric
			}
		}
	}
	switch {
	case total > p.Most:
		c.stop(true, "after the pilot of %s, ±%.3g %% of %s would take %s, more than %d: ask for less precision, or lengthen the window",
			count(p.Pilot, "block"), 100*p.Study.Measure.Precision, worst, needed(total), p.Most)
	case total == c.complete:
		c.target = total
		c.stop(false, "the pilot of %s gives an interval of ±%.3g %%, as was asked for", count(p.Pilot, "block"), 100*p.Study.Measure.Precision)
	default:
		c.target = total
	}
}

func needed(blocks int) string {
	if blocks >= stat.MostBlocks {
		return "over a million blocks"
	}
	return count(blocks, "block")
}
