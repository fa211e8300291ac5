package compare

import (
	"math"

	"plimsoll/internal/finding"
	"plimsoll/internal/stat"
)

// Recompute recomputes the estimate of a headline from the values of the trials.
func Recompute(f *finding.Findings, h *finding.Comparison, base, arm *finding.Summary) finding.Comparison {
	again := finding.Comparison{Metric: h.Metric, Arm: h.Arm}
	if h.NotRandomised {
		fill(&again, stat.Welch(Logs(base.Values), Logs(arm.Values), 1-f.Error))
		return again
	}
	blocks, numbers := PairedBlocks(base, arm)
	switch {
	case h.Pilot > 0 && h.Pilot <= len(blocks):
		take(&again, stat.SteinEffect(stat.Differences(blocks), h.Pilot, f.Error), nil)
	default:
		take(&again, stat.Contrast(blocks, f.Error), numbers)
	}
	return again
}

// Effect is the effect of an arm on a headline at the two-sided error alpha, on the log scale;
// without blocks if values are missing or not positive.
func Effect(f *finding.Findings, metric string, arm int, alpha float64) stat.Effect {
	base, other := f.Summary(metric, 0), f.Summary(metric, arm)
	if base == nil || other == nil || !Positive(base.Values) || !Positive(other.Values) {
		return stat.Contrast(nil, alpha)
	}
	blocks, _ := PairedBlocks(base, other)
	return stat.Contrast(blocks, alpha)
}

// PairedBlocks pairs two arms by the numbers of their blocks. A block in which an
// arm ran twice counts once, by the mean.
func PairedBlocks(base, arm *finding.Summary) (blocks []stat.Block, numbers []int) {
	type mean struct {
		sum, at, stolen, wanted float64
		n                       int
	}
	byBlock := func(s *finding.Summary) map[int]mean {
		m := map[int]mean{}
		for i, v := range s.Values {
			b := m[s.Blocks[i]]
			if i < min(len(s.Stolen), len(s.Wanted)) {
				b.stolen, b.wanted = b.stolen+s.Stolen[i], b.wanted+s.Wanted[i]
			}
			m[s.Blocks[i]] = mean{b.sum + math.Log(v), b.at + float64(s.Order[i]), b.stolen, b.wanted, b.n + 1}
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
		blocks = append(blocks, stat.Block{
			Base: own.sum / n, BaseAt: own.at / n, BaseCovariate: stat.Covariate{Share: own.stolen / n, Demand: own.wanted / n},
			Arm: other.sum / m, ArmAt: other.at / m, ArmCovariate: stat.Covariate{Share: other.stolen / m, Demand: other.wanted / m},
		})
		numbers = append(numbers, number)
	}
	return blocks, numbers
}
