package plan

import (
	"fmt"
	"math"
	"time"

	"plimsoll/internal/stat"
)

const (
	power = 0.80
	alpha = 1 - stat.FamilyLevel
)

// Budget is what a study can see with the blocks it may run.
type Budget struct {
	Blocks int         `json:"blocks"` // that it may run
	Table  []BudgetRow `json:"table"`  // for several noise levels, or for the known one alone
	// Short says that the budget cannot reach what the study asks for. The
	// study should not be started as it is.
	Short    bool   `json:"short"`
	Sentence string `json:"sentence"`
}

// BudgetRow is what can be seen at one level of noise.
type BudgetRow struct {
	CV         float64 `json:"cv"`         // of one trial from run to run, as a share
	Needed     int     `json:"needed"`     // blocks for 80 % power at the margin
	Detectable float64 `json:"detectable"` // smallest effect seen with 80 % power, as a share
}

// Budget says what the study can see when trials vary by cv from run to run; 0
// is not known yet, and then a table for several levels is made. The limit is
// the number of blocks planned and, where the study has a budget of time, the
// number that fits in it at perTrial each.
func (p *Plan) Budget(cv float64, perTrial time.Duration) Budget {
	b := Budget{Blocks: p.Most}
	if limit := p.Study.Measure.Time; limit > 0 && perTrial > 0 {
		b.Blocks = min(b.Blocks, int(limit/(perTrial*time.Duration(len(p.Arms)))))
	}
	levels := []float64{.005, .01, .02, .05, .10}
	if cv > 0 {
		levels = []float64{cv}
	}
	for _, l := range levels {
		b.Table = append(b.Table, BudgetRow{CV: l, Needed: stat.BlocksNeeded(l, p.Study.Margin, power, alpha), Detectable: stat.DetectableEffect(l, b.Blocks, power, alpha)})
	}
	b.judge(p, cv)
	return b
}

func (b *Budget) judge(p *Plan, cv float64) {
	margin := 100 * p.Study.Margin
	m := p.Study.Measure
	switch {
	case len(p.Arms) == 1 || m.Precision > 0:
		b.Sentence = fmt.Sprintf("At most %d blocks.", b.Blocks)
	case b.Blocks < stat.LeastBlocks && m.Blocks == 0:
		b.Short = true
		b.Sentence = fmt.Sprintf("The time budget of %s allows %d blocks, and a verdict takes at least %d: allow more time (measure.time) or make trials shorter (measure.window).", m.Time, b.Blocks, stat.LeastBlocks)
	case b.Blocks < stat.LeastBlocks:
		b.Sentence = fmt.Sprintf("%d blocks give numbers and no verdict: that takes at least %d.", b.Blocks, stat.LeastBlocks)
	case cv > 0 && b.Table[0].Needed > b.Blocks:
		b.Short = true
		b.Sentence = fmt.Sprintf("Trials vary by %.1f %% from run to run: an effect of %.3g %% takes about %d blocks, and the budget allows %d. It can see effects of %.1f %%: allow more blocks (measure.looks, measure.time) or raise the margin.",
			100*cv, margin, b.Table[0].Needed, b.Blocks, 100*b.Table[0].Detectable)
	default:
		b.Sentence = fmt.Sprintf("With %d blocks it sees effects of %s with 80 %% power.", b.Blocks, b.effects())
	}
}

func (b *Budget) effects() string {
	row := func(r BudgetRow) string {
		if math.IsInf(r.Detectable, 1) {
			return fmt.Sprintf("no size at a run-to-run CV of %.3g %%", 100*r.CV)
		}
		return fmt.Sprintf("%.1f %% at a run-to-run CV of %.3g %%", 100*r.Detectable, 100*r.CV)
	}
	if len(b.Table) == 1 {
		return row(b.Table[0])
	}
	return row(b.Table[1]) + ", " + row(b.Table[3])
}
