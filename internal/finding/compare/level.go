package compare

import (
	"math"

	"plimsoll/internal/finding"
	"plimsoll/internal/stat"
)

// AlignMeans makes the means of the arms consistent with the comparisons, like the adjusted
// means of a linear model: comparisons are corrected for order and outliers, plain means are
// not. The interval of a mean keeps its width. The means of a scale-out, to which the law is
// fitted, are not changed.
func AlignMeans(f *finding.Findings, metric string) {
	if f.ScaleOut != nil && f.ScaleOut.Metric.Name == metric {
		return
	}
	ratios := map[int]float64{0: 1}
	for i := range f.Headlines {
		c := &f.Headlines[i]
		if c.Metric.Name != metric {
			continue
		}
		if c.Blocks == 0 || c.Method != finding.ByBlocks && c.Method != finding.ByTrials && c.Method != finding.ByPilot {
			return
		}
		ratios[c.Arm] = c.Ratio
	}
	var of []*finding.Summary
	sum := 0.0
	for i := range f.Summaries {
		s := &f.Summaries[i]
		if s.Metric.Name != metric {
			continue
		}
		if ratios[s.Arm] <= 0 || !Positive(s.Values) {
			return
		}
		of = append(of, s)
		sum += stat.Center(Logs(s.Values)) - math.Log(ratios[s.Arm])
	}
	if len(of) < 2 || len(of) != len(ratios) {
		return
	}
	base := math.Exp(sum / float64(len(of)))
	for _, s := range of {
		adjusted := base * ratios[s.Arm]
		by := adjusted / s.Mean
		s.Mean, s.Low, s.High = adjusted, s.Low*by, s.High*by
	}
}
