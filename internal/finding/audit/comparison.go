package audit

import (
	"fmt"
	"math"
	"strconv"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/compare"
	"plimsoll/internal/stat"
)

// closeEnough is the relative tolerance of rounding errors.
const closeEnough = 1e-9

// auditComparisons recomputes the headlines from the values of the trials, by another path
// than the analysis: from block numbers instead of cells.
func auditComparisons(f *finding.Findings) []finding.Claim {
	var all []finding.Claim
	for i := range f.Headlines {
		h := &f.Headlines[i]
		claim := finding.Claim{Sentence: fmt.Sprintf("%s of %s against %s: ratio %s from %s to %s, %s",
			h.Metric.Name, f.Label(h.Arm), f.Label(0), exact(h.Ratio), exact(h.Low), exact(h.High), h.Verdict)}
		if fault := recompute(f, h, &claim); fault != "" {
			claim.Fault = fault
		} else if want := math.Min(1, h.P*(1-f.Level)/f.Error); math.Abs(want-h.Adjusted) > closeEnough {
			claim.Fault = "over all looks and headlines p is " + exact(want) + ", not " + exact(h.Adjusted)
		} else if coloured(h) && h.Adjusted > 1-f.Level+closeEnough {
			claim.Fault = "called " + string(h.Verdict) + " although its p over all looks and headlines is " + exact(h.Adjusted)
		}
		claim.Holds = claim.Fault == ""
		if claim.Computed != "" || !claim.Holds {
			all = append(all, claim)
		}
	}
	return all
}

func coloured(c *finding.Comparison) bool {
	return c.Verdict == finding.Better || c.Verdict == finding.Worse
}

func exact(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// recompute sets the values computed from the trials and returns the fault.
func recompute(f *finding.Findings, h *finding.Comparison, claim *finding.Claim) string {
	base, arm := f.Summary(h.Metric.Name, 0), f.Summary(h.Metric.Name, h.Arm)
	if base == nil || arm == nil || h.Counts != nil || !compare.Positive(base.Values) || !compare.Positive(arm.Values) {
		return ""
	}
	if len(base.Values) == 0 || len(arm.Values) == 0 {
		return "no values of single trials: the sub-results are missing"
	}
	again := compare.Recompute(f, h, base, arm)
	claim.Computed = fmt.Sprintf("ratio %s from %s to %s", exact(again.Ratio), exact(again.Low), exact(again.High))
	for _, pair := range [][2]float64{{h.Ratio, again.Ratio}, {h.Low, again.Low}, {h.High, again.High}} {
		if !(math.Abs(pair[0]-pair[1]) <= closeEnough*math.Abs(pair[1])) {
			return "the trials give another ratio or interval"
		}
	}
	if again.Blocks != h.Blocks {
		return fmt.Sprintf("the trials give %d blocks, not %d", again.Blocks, h.Blocks)
	}
	if math.Abs(again.P-h.P) > closeEnough {
		return "the trials give p " + exact(again.P) + ", not " + exact(h.P)
	}
	answer := stat.Judge(math.Log(again.Low), math.Log(again.High), f.Margin)
	if want := compare.VerdictOf(answer, h.Metric.Better); h.Verdict != finding.NotEnoughRuns && (h.Verdict != want || h.Blocks < f.Least) {
		return "the interval and the margin say " + string(want) + ", not " + string(h.Verdict)
	}
	return ""
}
