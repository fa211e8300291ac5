package plan

import (
	"fmt"
	"time"

	"plimsoll/internal/stat"
	"plimsoll/internal/study"
)

// power is the statistical power of the budget.
const power = 0.80

// unseen stands for an effect that no available number of blocks detects. It is finite so that
// JSON can store it.
const unseen = 100.0

// Budget is the statistical power of a study's blocks.
type Budget struct {
	Blocks int         `json:"blocks"` // maximum number of blocks: those planned, or those within the time budget
	CV     float64     `json:"cv,omitempty"`
	Table  []BudgetRow `json:"table,omitempty"` // for several coefficients of variation, or for the known one alone
	// Short reports that the goal of the study is out of reach within the budget.
	Short    bool   `json:"short"`
	Sentence string `json:"sentence"`
}

// BudgetRow is the resolution at one level of noise.
type BudgetRow struct {
	CV         float64     `json:"cv"`         // coefficient of variation between trials
	Needed     int         `json:"needed"`     // blocks that detect an effect as large as the margin
	Detectable float64     `json:"detectable"` // smallest effect that Budget.Blocks detect, as a share
	Decidable  float64     `json:"decidable"`  // smallest effect that Budget.Blocks show to be beyond the margin, as a share
	Looks      []LookPower `json:"looks,omitempty"`
	Effects    []Power     `json:"effects"`
}

// LookPower is the smallest effect, as a share, that a planned look detects.
type LookPower struct {
	Blocks     int     `json:"blocks"`
	Detectable float64 `json:"detectable"`
}

// Power is the number of blocks that detect an effect, a share, in a study with one look.
type Power struct {
	Effect float64 `json:"effect"`
	Blocks int     `json:"blocks"`
}

var (
	noises  = []float64{.005, .01, .02, .05, .10}
	effects = []float64{.01, .02, .05, .10, .20}
)

// Budget computes what the study can detect with 80 % power, if the coefficient of variation
// between trials is cv; for 0, unknown, it has a table of several values. The number of blocks
// is limited by the plan and by the time budget, at perTrial each.
func (p *Plan) Budget(cv float64, perTrial time.Duration) Budget {
	b := Budget{Blocks: p.Most, CV: cv}
	if limit := p.Study.Measure.Time; limit > 0 && perTrial > 0 {
		b.Blocks = min(b.Blocks, int(limit/(perTrial*time.Duration(len(p.Arms)))))
	}
	levels := noises
	if cv > 0 {
		levels = []float64{cv}
	}
	if len(p.Arms) > 1 {
		for _, l := range levels {
			b.Table = append(b.Table, p.row(l, b.Blocks))
		}
	}
	b.judge(p, perTrial)
	return b
}

// row uses the error of one comparison at one look, except for the table of effects, which
// uses a single test at 5 %.
func (p *Plan) row(cv float64, blocks int) BudgetRow {
	see := func(blocks int) float64 { return min(unseen, stat.DetectableEffect(cv, blocks, power, p.Alpha())) }
	r := BudgetRow{CV: cv, Needed: stat.BlocksNeeded(cv, p.Study.Margin, power, p.Alpha()), Detectable: see(p.lookWithin(blocks))}
	r.Decidable = min(unseen, (1+p.Study.Margin)*(1+r.Detectable)-1)
	for _, look := range p.Looks {
		if look <= blocks {
			r.Looks = append(r.Looks, LookPower{look, see(look)})
		}
	}
	for _, e := range effects {
		r.Effects = append(r.Effects, Power{e, stat.BlocksNeeded(cv, e, power, 1-stat.FamilyLevel)})
	}
	return r
}

// lookWithin is the last look within a number of blocks: further blocks are not used.
func (p *Plan) lookWithin(blocks int) int {
	if p.Looks == nil {
		return blocks
	}
	last := 0
	for _, look := range p.Looks {
		if look <= blocks {
			last = look
		}
	}
	return last
}

// judge sets the sentence on the budget.
func (b *Budget) judge(p *Plan, perTrial time.Duration) {
	m := p.Study.Measure
	least := p.least()
	switch {
	case b.Blocks < min(least, p.planned()):
		b.Short = true
		b.Sentence = fmt.Sprintf("The time budget of %s allows %s of %s, and %s at least %d: %s.",
			m.Time, count(b.Blocks, "block"), count(len(p.Arms), "trial"), p.purpose(), least, p.remedy(min(least, p.planned()), perTrial))
	case len(p.Arms) == 1 && p.Pilot == 0:
		b.Sentence = fmt.Sprintf("One arm in %s: numbers with an interval, and nothing to compare.", count(b.Blocks, "block"))
	case p.Pilot > 0:
		b.Sentence = fmt.Sprintf("A pilot of %s tells how many give ±%.3g %%, up to %d.", count(p.Pilot, "block"), 100*m.Precision, b.Blocks)
	case b.Blocks < p.Least():
		b.Sentence = fmt.Sprintf("%s: numbers and no verdict, which takes at least %d.", count(b.Blocks, "block"), p.Least())
	case b.CV > 0 && b.Table[0].Detectable > p.Study.Margin:
		row := b.Table[0]
		b.Short = true
		b.Sentence = fmt.Sprintf("Trials vary by %.2g %% from run to run: a margin of %.3g %% takes about %s, and the budget allows %d, in which one of %s is within reach. Allow more blocks (%s), lengthen measure.window, or raise the margin.",
			100*b.CV, 100*p.Study.Margin, count(row.Needed, "block"), b.Blocks, percent(row.Detectable), lever(m))
	default:
		rows := b.Table
		if len(rows) > 3 { // the quietest and the noisiest testbeds are in the table
			rows = rows[1:4]
		}
		text := ""
		for i, r := range rows {
			if i == 0 {
				text = fmt.Sprintf("%s where trials vary by %.3g %% from run to run", percent(r.Decidable), 100*r.CV)
				continue
			}
			text += fmt.Sprintf(", %s where by %.3g %%", percent(r.Decidable), 100*r.CV)
		}
		b.Sentence = fmt.Sprintf("Up to %s tell, with 80 %% power, an effect from the margin of %.3g %% if it is at least %s.", count(b.Blocks, "block"), 100*p.Study.Margin, text)
	}
}

// remedy is the time that the blocks need, or a smaller plan that fits the time budget.
func (p *Plan) remedy(blocks int, perTrial time.Duration) string {
	need := func(blocks int) time.Duration {
		total := perTrial * time.Duration(blocks*len(p.Arms))
		return (total + time.Second - 1).Truncate(time.Second)
	}
	text := fmt.Sprintf("allow at least %s (--set measure.time=%s)", need(blocks), need(blocks))
	if p.Looks != nil && stat.LeastBlocks < blocks {
		text += fmt.Sprintf(", or plan %d blocks without looks in %s (--set measure.blocks=%d --set measure.time=%s)",
			stat.LeastBlocks, need(stat.LeastBlocks), stat.LeastBlocks, need(stat.LeastBlocks))
	}
	excess := perTrial - p.Study.Measure.Time/time.Duration(blocks*len(p.Arms))
	return text + fmt.Sprintf(", or make each trial %s shorter (measure.window, measure.warmup)", (excess+100*time.Millisecond-1).Truncate(100*time.Millisecond))
}

// least is the fewest blocks for the study's purpose.
func (p *Plan) least() int {
	switch {
	case p.Pilot > 0:
		return p.Pilot
	case p.Looks != nil:
		return max(p.Looks[0], p.Least())
	}
	return p.Most
}

func (p *Plan) purpose() string {
	switch {
	case p.Pilot > 0:
		return "the pilot takes"
	case p.Looks != nil:
		return "a verdict takes"
	}
	return "the study asks for"
}

func lever(m study.Measure) string {
	if m.Blocks > 0 {
		return "measure.blocks"
	}
	return "measure.looks, measure.time"
}

func percent(effect float64) string {
	if effect >= 1 {
		return "no effect short of doubling"
	}
	return fmt.Sprintf("%.2g %%", 100*effect)
}
