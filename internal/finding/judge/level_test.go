package judge

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
)

// The mean of an arm is the baseline's times the change that stands beside it, with two
// arms and more, an effect of the order, outlying trials and void ones.
func TestMeansAgreeWithTheirRatio(t *testing.T) {
	slow := func(r *measure.Record) {
		if r.Slot == 2 {
			r.Values["iops"] *= .97
		}
		switch r.Trial % 7 {
		case 3:
			r.Values["iops"] *= .8
		case 5:
			r.Void = "it drifts"
		}
	}
	for _, w := range []world{
		{seed: 1, blocks: 9, arms: []float64{1, 1.05}, cv: .02},
		{seed: 2, blocks: 12, arms: []float64{1, 1.05}, cv: .02, edit: slow},
		{seed: 3, blocks: 12, arms: []float64{1, 1.05, .9}, cv: .02, edit: slow},
		{seed: 4, blocks: 3, arms: []float64{1, 2}, cv: .2},
	} {
		c := w.build()
		for i := range c.Plan.Arms { // no sizes, which would make a scale-out
			c.Plan.Arms[i].Levels = map[string]string{"storage.threads": fmt.Sprintf("x%d", i)}
		}
		f := judged(c)
		if len(f.Headlines) != len(w.arms)-1 {
			t.Fatalf("%d comparisons", len(f.Headlines))
		}
		base := f.Summary("iops", 0)
		for _, h := range f.Headlines {
			arm := f.Summary("iops", h.Arm)
			if h.Method == "" || math.Abs(arm.Mean/base.Mean/h.Ratio-1) > 1e-12 {
				t.Errorf("seed %d: %g against %g is not the ratio %g (%s)", w.seed, arm.Mean, base.Mean, h.Ratio, h.Method)
			}
			if !(arm.Low <= arm.Mean && arm.Mean <= arm.High) {
				t.Errorf("seed %d: the mean %g is not in its interval from %g to %g", w.seed, arm.Mean, arm.Low, arm.High)
			}
		}
		if truth := 10000.0; math.Abs(base.Mean/truth-1) > 4*w.cv/math.Sqrt(float64(w.blocks))+.02 {
			t.Errorf("seed %d: the baseline's mean is %g, its truth %g", w.seed, base.Mean, truth)
		}
		if i := slices.IndexFunc(f.Audit, func(c finding.Claim) bool { return !c.Holds && !c.NotUnderstood }); i >= 0 && w.blocks > 5 {
			t.Errorf("seed %d: %+v", w.seed, f.Audit[i])
		}
	}
}
