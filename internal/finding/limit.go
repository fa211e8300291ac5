package finding

import (
	"fmt"
	"strconv"

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
		r := LimitResult{Limit: limitText(l), Arm: arm, State: measure.Unknown}
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

// limitText writes a limit as a study would: "p99 <= 0.02", in base units.
func limitText(l study.Limit) string {
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	switch {
	case l.Min != nil && l.Max != nil:
		return fmt.Sprintf("%s <= %s <= %s", number(*l.Min), l.Metric, number(*l.Max))
	case l.Min != nil:
		return l.Metric + " >= " + number(*l.Min)
	case l.Max != nil:
		return l.Metric + " <= " + number(*l.Max)
	}
	return l.Metric
}
