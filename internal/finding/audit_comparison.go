package finding

import (
	"fmt"
	"math"
	"strconv"

	"plimsoll/internal/stat"
)

// closeEnough is how far a recomputed number may be off, relative to its size:
// rounding, and nothing else.
const closeEnough = 1e-9

// auditComparisons computes the headlines anew from the values of the trials, by
// another way than the one that made them: from block numbers instead of cells.
func auditComparisons(f *Findings) []Claim {
	var all []Claim
	l := newLedger(f)
	for i := range f.Headlines {
		h := &f.Headlines[i]
		base, arm := l.summaries[place(h.Metric.Name, 0)], l.summaries[place(h.Metric.Name, h.Arm)]
		claim := Claim{Sentence: fmt.Sprintf("%s of %s against %s: ratio %s from %s to %s, %s",
			h.Metric.Name, f.label(h.Arm), f.label(0), exact(h.Ratio), exact(h.Low), exact(h.High), h.Verdict)}
		if fault := f.recompute(h, base, arm, &claim); fault != "" {
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

func coloured(c *Comparison) bool { return c.Verdict == Better || c.Verdict == Worse }

func exact(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// recompute fills in what the values of the trials give and returns the fault.
func (f *Findings) recompute(h *Comparison, base, arm *Summary, claim *Claim) string {
	if base == nil || arm == nil || h.Counts != nil || !positive(base.Values) || !positive(arm.Values) {
		return ""
	}
	if len(base.Values) == 0 || len(arm.Values) == 0 {
		return "no values of single trials: the sub-results are missing"
	}
	again := Comparison{Metric: h.Metric, Arm: h.Arm}
	f.estimate(&again, h, base, arm)
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
	if want := verdictOf(answer, h.Metric.Better); h.Verdict != NotEnoughRuns && (h.Verdict != want || h.Blocks < f.Least) {
		return "the interval and the margin say " + string(want) + ", not " + string(h.Verdict)
	}
	return ""
}

// estimate fills in a comparison from the values of the trials.
func (f *Findings) estimate(again, h *Comparison, base, arm *Summary) {
	if h.NotRandomised {
		again.fill(stat.Welch(logs(base.Values), logs(arm.Values), 1-f.Error))
		return
	}
	blocks, numbers := pairedBlocks(base, arm)
	if h.Pilot > 0 && h.Pilot <= len(blocks) {
		again.take(stat.SteinEffect(stat.Differences(blocks), h.Pilot, f.Error), nil)
		return
	}
	again.take(stat.Contrast(blocks, f.Error), numbers)
}

// Effect is the effect of an arm on a headline at the two-sided error alpha, on the
// log scale; without blocks where values are missing or not above 0.
func (f *Findings) Effect(metric string, arm int, alpha float64) stat.Effect {
	l := newLedger(f)
	base, other := l.summaries[place(metric, 0)], l.summaries[place(metric, arm)]
	if base == nil || other == nil || !positive(base.Values) || !positive(other.Values) {
		return stat.Contrast(nil, alpha)
	}
	blocks, _ := pairedBlocks(base, other)
	return stat.Contrast(blocks, alpha)
}

// pairedBlocks pairs two arms by the numbers of their blocks. A block in which an
// arm ran twice counts once, by the mean.
func pairedBlocks(base, arm *Summary) (blocks []stat.Block, numbers []int) {
	type mean struct {
		sum, at float64
		n       int
	}
	byBlock := func(s *Summary) map[int]mean {
		m := map[int]mean{}
		for i, v := range s.Values {
			b := m[s.Blocks[i]]
			m[s.Blocks[i]] = mean{b.sum + math.Log(v), b.at + float64(s.Order[i]), b.n + 1}
		}
		return m
	}
	a, b := byBlock(base), byBlock(arm)
	done := map[int]bool{}
	for _, number := range base.Blocks {
		other, ok := b[number]
		own := a[number]
		if !ok || done[number] {
			continue
		}
		done[number] = true
		n, m := float64(own.n), float64(other.n)
		blocks = append(blocks, stat.Block{Base: own.sum / n, BaseAt: own.at / n, Arm: other.sum / m, ArmAt: other.at / m})
		numbers = append(numbers, number)
	}
	return blocks, numbers
}
