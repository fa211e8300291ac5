package finding

import (
	"plimsoll/internal/measure"
	"plimsoll/internal/study"
)

// limits holds the limits that the study declares against the mean of each arm.
func (c *Case) limits(summaries []Summary) []LimitResult {
	var all []LimitResult
	for arm := range c.view.arms {
		all = append(all, Limits(c.Study.Limits, summaries, arm)...)
	}
	return all
}

// Limits holds limits against the mean of an arm. One whose metric has no value is
// unknown, which is not a pass.
func Limits(limits []study.Limit, summaries []Summary, arm int) []LimitResult {
	var all []LimitResult
	for _, l := range limits {
		r := LimitResult{Limit: l.String(), Arm: arm, State: measure.Unknown}
		for _, s := range summaries {
			if s.Metric.Name != l.Metric || s.Arm != arm {
				continue
			}
			r.Value, r.State = s.Mean, measure.Pass
			if l.Min != nil && s.Mean < *l.Min || l.Max != nil && s.Mean > *l.Max {
				r.State = measure.Fail
			}
		}
		all = append(all, r)
	}
	return all
}
