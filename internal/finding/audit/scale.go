package audit

import (
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/capacity"
)

// auditScale recomputes the scale-out from the values of the trials: efficiencies, the law,
// its forecast, and the reason for a refusal.
func auditScale(f *finding.Findings) []finding.Claim {
	o := f.ScaleOut
	if o == nil {
		return nil
	}
	claim := finding.Claim{Sentence: "scale-out of " + o.Metric.Name + " with " + o.Factor}
	again := capacity.Scale(f, o.Factor, o.Metric)
	if again == nil {
		claim.Fault = "no values of single trials: the sub-results are missing"
		return []finding.Claim{claim}
	}
	last := again.Sizes[len(again.Sizes)-1]
	claim.Computed = fmt.Sprintf("%d sizes, efficiency %s from %s to %s", len(again.Sizes), exact(last.Efficiency), exact(last.EfficiencyLow), exact(last.EfficiencyHigh))
	words, figures := content(o)
	wantWords, wantFigures := content(again)
	near := func(a, b float64) bool { return math.Abs(a-b) <= closeEnough*math.Abs(b) }
	switch {
	case !slices.Equal(words, wantWords):
		claim.Fault = "the trials give another refusal"
	case !slices.EqualFunc(figures, wantFigures, near):
		claim.Fault = "the trials give another efficiency or another law"
	}
	claim.Holds = claim.Fault == ""
	return []finding.Claim{claim}
}

// content is all texts and numbers, without the sentences.
func content(o *finding.ScaleOut) (words []string, figures []float64) {
	words = []string{o.Refusal}
	for _, s := range o.Sizes {
		figures = append(figures, float64(s.Units), float64(s.Arm), float64(s.Trials), s.Mean, s.Low, s.High, s.Efficiency, s.EfficiencyLow, s.EfficiencyHigh)
	}
	l := o.Law
	if l == nil {
		return words, figures
	}
	words = append(words, l.NoPeak)
	figures = append(figures, l.Miss)
	all := []finding.Estimate{l.Lambda, l.Sigma, l.Kappa}
	if l.Peak != nil && l.PeakRate != nil {
		all = append(all, *l.Peak, *l.PeakRate)
	}
	for _, p := range l.Curve {
		figures = append(figures, float64(p.Units))
		all = append(all, p.Rate)
	}
	for _, e := range all {
		figures = append(figures, e.Value, e.Low, e.High)
	}
	return words, figures
}
