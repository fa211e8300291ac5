package intervene

import (
	"math"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/compare"
	"plimsoll/internal/stat"
)

// The arms of the study of an intervention.
const (
	baseFree = iota
	basePinned
	otherFree
	otherPinned
	arms
)

// heldShare is the part of its change that a counter may keep while it is held.
const heldShare = 0.5

// Judge sets the estimates and the result of an intervention from the findings of its study.
func Judge(v *finding.Intervention, f *finding.Findings) {
	v.Blocks, v.Level, v.Margin, v.Result = 0, Level, f.Margin, finding.NotDecided
	v.FreeEffect, v.PinEffect, v.Interaction = tested(nil), tested(nil), tested(nil)
	cells, ok := cellsOf(f, v.Metric.Name, baseFree, basePinned, otherFree, otherPinned)
	if !ok {
		return
	}
	free, pinned := minus(cells[otherFree], cells[baseFree]), minus(cells[otherPinned], cells[basePinned])
	v.Blocks = len(free)
	v.FreeEffect, v.PinEffect, v.Interaction = tested(free), tested(pinned), tested(minus(free, pinned))
	v.CounterFree, v.CounterPinned = ratio(f, v.Counter, otherFree, baseFree), ratio(f, v.Counter, otherPinned, basePinned)
	v.Result = result(v, held(f, v.Counter))
}

// held reports whether the second factor did what it is for: the counter changes by at most half
// as much, in logarithms, or as it is where it is 0 in an arm.
func held(f *finding.Findings, counter string) bool {
	var means [arms]float64
	positive := true
	for arm := range means {
		s := f.Summary(counter, arm)
		if s == nil {
			return false
		}
		means[arm] = s.Mean
		positive = positive && s.Mean > 0
	}
	free, pinned := means[otherFree]-means[baseFree], means[otherPinned]-means[basePinned]
	if positive {
		free, pinned = math.Log(means[otherFree]/means[baseFree]), math.Log(means[otherPinned]/means[basePinned])
	}
	return free != 0 && math.Abs(pinned) <= heldShare*math.Abs(free)
}

// remains is the part of an effect, as a logarithm, that remains while a side effect is held.
const remains = 0.5

// nearest is the logarithm of the end of the interval that is nearest to no effect, without its
// sign; 0 if the interval contains none.
func nearest(t finding.Tested) float64 {
	if t.Low <= 1 && t.High >= 1 {
		return 0
	}
	return math.Min(math.Abs(math.Log(t.Low)), math.Abs(math.Log(t.High)))
}

// result is the result of the estimates, for a counter that was held or not.
func result(v *finding.Intervention, held bool) finding.Result {
	within := math.Log1p(v.Margin)
	differs := func(t finding.Tested) bool { return t.Low > 1 || t.High < 1 }
	equivalent := v.PinEffect.Low >= math.Exp(-within) && v.PinEffect.High <= math.Exp(within)
	same := (v.PinEffect.Ratio > 1) == (v.FreeEffect.Ratio > 1)
	smaller := math.Abs(math.Log(v.PinEffect.Ratio)) < math.Abs(math.Log(v.FreeEffect.Ratio))
	beyond := func(t finding.Tested) bool { return t.Low > math.Exp(within) || t.High < math.Exp(-within) }
	shrinks := differs(v.Interaction) && smaller
	switch {
	case v.Blocks < stat.LeastBlocks || !differs(v.FreeEffect):
		return finding.NotDecided
	case !held:
		return finding.NotHeld
	case differs(v.Interaction) && equivalent:
		return finding.Caused
	case beyond(v.Interaction) && smaller && same && beyond(v.PinEffect):
		return finding.CausedPart
	case shrinks: // by less than the margin, for all that is known
		return finding.NotDecided
	case same && nearest(v.PinEffect) > remains*math.Abs(math.Log(v.FreeEffect.Ratio)), differs(v.Interaction):
		return finding.SideEffect
	}
	return finding.NotDecided
}

// tested is the mean of logarithms of ratios, one for each block.
func tested(logs []float64) finding.Tested {
	p := stat.PairedT(logs, Level)
	if p.N < 2 { // nothing can be said
		return finding.Tested{Ratio: 1, Low: 1, High: 1, P: 1}
	}
	return finding.Tested{Ratio: math.Exp(p.Mean), Low: math.Exp(p.Low), High: math.Exp(p.High), P: p.P}
}

// cellsOf are the logarithms of a headline by arm, in the blocks that have all of these arms.
func cellsOf(f *finding.Findings, metric string, arms ...int) ([][]float64, bool) {
	byBlock := make([]map[int]float64, len(arms))
	var order []int
	for i, arm := range arms {
		s := f.Summary(metric, arm)
		if s == nil || !compare.Positive(s.Values) {
			return nil, false
		}
		byBlock[i] = map[int]float64{}
		for k, x := range s.Values {
			byBlock[i][s.Blocks[k]] = math.Log(x)
		}
		if i == 0 {
			order = s.Blocks
		}
	}
	cells := make([][]float64, len(arms))
	for _, block := range order {
		complete := true
		for i := range byBlock {
			_, found := byBlock[i][block]
			complete = complete && found
		}
		for i := range byBlock {
			if complete {
				cells[i] = append(cells[i], byBlock[i][block])
			}
		}
	}
	return cells, true
}

func minus(a, b []float64) []float64 {
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	return d
}

// ratio is the ratio of the means of a counter in two arms; 0 if unknown.
func ratio(f *finding.Findings, counter string, arm, base int) float64 {
	a, b := f.Summary(counter, arm), f.Summary(counter, base)
	if a == nil || b == nil || a.Mean <= 0 || b.Mean <= 0 {
		return 0
	}
	return a.Mean / b.Mean
}
