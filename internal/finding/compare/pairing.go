package compare

import (
	"math"
	"strings"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/table"
	"plimsoll/internal/measure"
	"plimsoll/internal/stat"
)

// pairing is a metric by arm and block, on the scale of the comparison.
type pairing struct {
	col     *table.Column
	kind    pairingKind
	cells   [][]float64 // by arm and block; NaN without a value
	tallies []tally     // by arm; failures only
}

type pairingKind int

const (
	byRatio      pairingKind = iota // logarithms of positive values
	byDifference                    // values that can be 0 or less
	byCount                         // shares of failed operations
)

// tally counts operations.
type tally struct{ failed, all int64 }

// share is the share that failed.
func (t tally) share() float64 { return float64(t.failed) / math.Max(1, float64(t.all)) }

func pair(t *table.Table, col *table.Column) pairing {
	p := pairing{col: col, kind: byDifference}
	switch {
	case isFailures(col):
		p.kind = byCount
		shares := count(t, &p)
		p.cells = t.Cells(shares, func(x float64) float64 { return x })
	case col.Positive:
		p.kind = byRatio
		p.cells = t.Cells(col, math.Log)
	default:
		p.cells = t.Cells(col, func(x float64) float64 { return x })
	}
	return p
}

// Differences are the differences of an arm from the baseline within blocks, on the scale
// of the comparison.
func Differences(t *table.Table, col *table.Column, arm int) []float64 {
	p := pair(t, col)
	return table.Differences(p.cells, arm)
}

// isFailures reports whether the metric is the number of failed operations of a workload.
func isFailures(col *table.Column) bool {
	name := col.Metric.Name
	return col.Origin == table.Workload && (name == "errors" || strings.HasSuffix(name, ".errors"))
}

// count sets the tallies of p and returns the failure rate of each trial.
func count(t *table.Table, p *pairing) *table.Column {
	prefix := strings.TrimSuffix(p.col.Metric.Name, "errors")
	p.tallies = make([]tally, t.Arms)
	shares := &table.Column{Values: make([]float64, len(t.Valid))}
	for i := range t.Valid {
		r := &t.Valid[i]
		n := tally{failed: r.Counts[prefix+"errors"]}
		n.all = r.Counts[prefix+"operations"] + n.failed
		shares.Values[i] = math.NaN()
		if n.all > 0 {
			shares.Values[i] = n.share()
		}
		p.tallies[r.Arm].failed += n.failed
		p.tallies[r.Arm].all += n.all
	}
	return shares
}

// compare compares an arm with the baseline, at the given confidence level.
func (p *pairing) compare(arm int, level float64) finding.Comparison {
	d := table.Differences(p.cells, arm)
	one := absent(p.col.Metric, arm)
	one.Blocks = len(d)
	switch p.kind {
	case byRatio:
		if len(d) > 0 {
			fill(&one, stat.PairedT(d, level))
		}
	case byCount:
		p.compareCounts(&one, d, level)
	default:
		p.compareLevels(&one, d)
	}
	return one
}

// absent is a comparison without data.
func absent(m measure.Metric, arm int) finding.Comparison {
	return finding.Comparison{Metric: m, Arm: arm, Ratio: 1, Low: 1, High: 1, P: 1, Adjusted: 1, NoInterval: true}
}

// fill sets the estimate of a mean log-ratio.
func fill(c *finding.Comparison, p stat.Paired) {
	c.Blocks = p.N
	c.Ratio, c.Low, c.High = math.Exp(p.Mean), math.Exp(p.Low), math.Exp(p.High)
	c.NoInterval = p.N < 2 || math.IsInf(c.High, 0) || math.IsNaN(c.Low+c.High)
	if c.NoInterval {
		c.Low, c.High = c.Ratio, c.Ratio
	}
	c.P = p.P
	if !c.NoInterval && p.SE > 0 {
		c.SE, c.DF, c.Critical = p.SE, p.DF, (p.High-p.Mean)/p.SE
	}
}

// compareLevels tests differences, for values without logarithms; the ratio is that of the
// means over the blocks.
func (p *pairing) compareLevels(one *finding.Comparison, d []float64) {
	one.P, one.Method = stat.PairedT(d, ExploreLevel).P, finding.ByAverage
	var base, rise float64
	for b, x := range p.cells[0] {
		if y := p.cells[one.Arm][b]; !math.IsNaN(x) && !math.IsNaN(y) {
			base += x
			rise += y - x
		}
	}
	if base <= 0 {
		one.NoRatio = true
		return
	}
	one.Ratio = 1 + rise/base
	one.Low, one.High = one.Ratio, one.Ratio
}

// compareCounts compares failed operations as counts. Failures often come in bursts within one
// trial, while the exact test assumes independent events. So the difference must also be
// significant between trials: the larger p value is used.
func (p *pairing) compareCounts(one *finding.Comparison, d []float64, level float64) {
	a, b := p.tallies[0], p.tallies[one.Arm]
	one.Counts = &finding.Counts{Failed: b.failed, Operations: b.all, BaselineFailed: a.failed, BaselineOperations: a.all}
	if a.failed+b.failed == 0 || len(d) == 0 {
		return
	}
	between := stat.PairedT(d, level).P
	one.P, one.Method = math.Max(stat.BinomialRate(a.failed, float64(a.all), b.failed, float64(b.all)), between), finding.ByCounts
	if a.failed == 0 || b.failed == 0 {
		return
	}
	one.Ratio, one.Low, one.High = stat.RateRatio(stat.Rate{Events: a.failed, Exposure: float64(a.all)}, stat.Rate{Events: b.failed, Exposure: float64(b.all)}, level)
	// Intervals of counts are too narrow for bursts of failures.
	if one.NoInterval = (one.Low > 1 || one.High < 1) && one.P > 1-level; one.NoInterval {
		one.Low, one.High = one.Ratio, one.Ratio
	}
}
