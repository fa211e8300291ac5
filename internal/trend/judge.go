package trend

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"

	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
	"plimsoll/internal/stat"
	"plimsoll/internal/stat/change"
)

const (
	// alpha is the probability of a false alarm per run: on average one in 500 runs at most.
	alpha = 1. / 500
	// shortest is the fewest runs before and after a change.
	shortest = 5
	// mostArms bounds the lines of a series.
	mostArms = 12
)

// reading is the value of a metric in a trial.
type reading struct {
	arm, block int
	value      float64
}

// judge makes the lines of a series: each arm, then its ratio to the baseline.
func (p *part) judge(metrics []string) {
	p.Lines = []Line{}
	for _, name := range metrics {
		metric, known := p.units[name]
		if !known {
			metric = measure.Metric{Name: name, Unit: "1"}
		}
		for _, arm := range p.arms[:min(len(p.arms), mostArms)] {
			p.line(Line{Metric: metric, Arm: arm.Label}, func(r *Run) []float64 { return logsOf(r.values[name], arm.Index) })
		}
		for _, arm := range p.arms[min(len(p.arms), 1):min(len(p.arms), mostArms)] {
			p.line(Line{Metric: metric, Arm: arm.Label, Against: p.arms[0].Label}, func(r *Run) []float64 { return ratiosOf(r.values[name], arm.Index) })
		}
	}
}

// logsOf are the logarithms of the values of an arm; nil if there are none, or some are 0 or less.
func logsOf(all []reading, arm int) []float64 {
	var logs []float64
	for _, r := range all {
		if r.arm != arm {
			continue
		}
		if !(r.value > 0) || math.IsInf(r.value, 1) {
			return nil
		}
		logs = append(logs, math.Log(r.value))
	}
	return logs
}

// ratiosOf are the log-ratios of an arm to arm 0 in the blocks that have both.
func ratiosOf(all []reading, arm int) []float64 {
	sums := map[int][2]float64{} // by block, of both arms
	for _, r := range all {
		s := sums[r.block]
		switch {
		case !(r.value > 0) || math.IsInf(r.value, 1):
			return nil
		case r.arm == 0:
			s[0] = r.value
		case r.arm == arm:
			s[1] = r.value
		}
		sums[r.block] = s
	}
	blocks := make([]int, 0, len(sums))
	for block, s := range sums {
		if s[0] > 0 && s[1] > 0 {
			blocks = append(blocks, block)
		}
	}
	slices.Sort(blocks)
	var logs []float64
	for _, block := range blocks {
		logs = append(logs, math.Log(sums[block][1]/sums[block][0]))
	}
	return logs
}

// line adds a line, if any run has a value of it.
func (p *part) line(l Line, logsOf func(*Run) []float64) {
	l.Margin = p.study.Margin
	l.Changes = []Change{}
	var series []float64
	for i := range p.Runs {
		logs := logsOf(&p.Runs[i])
		if len(logs) == 0 {
			continue
		}
		of := stat.PairedT(logs, finding.SummaryLevel)
		series = append(series, of.Mean)
		l.Points = append(l.Points, pointOf(of, i))
	}
	if len(series) == 0 {
		return
	}
	rule := change.Rule{Alpha: alpha, Segment: shortest, Margin: math.Log1p(l.Margin), Seed: seedOf(p.ID, l)}
	l.Least = rule.Least()
	w := change.Watch(series, rule)
	segments := w.Segments(len(series))
	for i := range w.Changes {
		l.Changes = append(l.Changes, p.change(&l, w.Changes[i], sides{series, segments[i], segments[i+1]}))
	}
	l.Alarms, l.Autocorrelation, l.Dependent = w.Alarms, w.Autocorrelation, w.Dependent
	l.level(series, segments)
	p.Lines = append(p.Lines, l)
}

// count counts the lines that are judged. After a run each has a provisional change by chance with a probability of alpha at most: expected
// numbers add, also where lines depend on each other, as a metric and its ratio do.
func (t *Trend) count() {
	for i := range t.Series {
		for j := range t.Series[i].Lines {
			if !t.Series[i].Lines[j].Few() {
				t.Judged++
			}
		}
	}
	t.ByChance = alpha * float64(t.Judged)
}

// seedOf is the seed of the permutations of a line. It depends on what the line is of, not on its values.
func seedOf(id string, l Line) uint64 {
	sum := sha256.Sum256([]byte(id + "\x00" + l.Metric.Name + "\x00" + l.Arm + "\x00" + l.Against))
	return binary.LittleEndian.Uint64(sum[:])
}

func pointOf(of stat.Paired, run int) Point {
	p := Point{Run: run, Blocks: of.N, Value: exp(of.Mean), Low: exp(of.Low), High: exp(of.High)}
	if of.N < 2 {
		p.Low, p.High = p.Value, p.Value
	}
	return p
}

// exp is the exponential of a number, finite whatever a forged record holds.
func exp(v float64) float64 { return min(math.Exp(v), math.MaxFloat64) }

// sides are the segments before and after a change.
type sides struct {
	series        []float64
	before, after change.Segment
}

// change is a change of a line, with its size from the runs on both sides.
func (p *part) change(l *Line, c change.Change, s sides) Change {
	size := stat.Welch(s.series[s.before.From:s.before.To], s.series[s.after.From:s.after.To], finding.SummaryLevel)
	out := Change{
		Run: l.Points[c.At].Run, Before: l.Points[c.At-1].Run, State: Frozen, P: c.P,
		Ratio: exp(size.Mean), Low: exp(size.Low), High: exp(size.High), Verdict: verdictOf(l.Metric.Better, size.Mean),
	}
	first, before := &p.Runs[out.Run], &p.Runs[out.Before]
	out.Started, out.Found = first.Started, p.Runs[l.Points[c.Found].Run].Started
	out.Along = differences(append([]Fact{{"plimsoll", before.Version}}, before.facts...), append([]Fact{{"plimsoll", first.Version}}, first.facts...))
	if !c.Frozen {
		out.State, out.More = Provisional, change.Settle-(len(s.series)-1-c.Found)
	}
	return out
}

func verdictOf(better measure.Direction, shift float64) finding.Verdict {
	switch {
	case better == measure.Neutral:
		return finding.Changed
	case (better == measure.HigherIsBetter) == (shift > 0):
		return finding.Better
	}
	return finding.Worse
}

// level sets the level since the last change and the spread between runs.
func (l *Line) level(series []float64, segments []change.Segment) {
	latest := segments[len(segments)-1]
	of := stat.PairedT(series[latest.From:latest.To], finding.SummaryLevel)
	p := pointOf(of, 0)
	l.Level, l.Low, l.High = p.Value, p.Low, p.High
	squares, degrees := 0., 0
	for _, s := range segments {
		_, sum := stat.Moments(series[s.From:s.To])
		squares, degrees = squares+sum, degrees+s.To-s.From-1
	}
	if degrees > 0 {
		l.Spread = exp(math.Sqrt(squares/float64(degrees))) - 1
	}
}
