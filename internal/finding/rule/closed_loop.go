package rule

import (
	"math"
	"slices"

	"plimsoll/internal/finding"
)

// closedLoop decomposes an effect on the rate of a closed loop into concurrency and latency: X
// = N/(R+Z).
var closedLoop = Rule{
	Name:   "closed_loop",
	Doc:    "in a closed loop the rate is the number of operations in flight divided by their latency (Little's law)",
	Effect: true,
	Closed: true,
	Needs:  []string{"mean"},
	Check: func(c *Case, arm int) *Found {
		if slices.ContainsFunc(c.Headlines, func(h finding.Comparison) bool { return h.Metric.Name == c.Table.Rate }) && !c.decidedMetric(arm, c.Table.Rate) {
			return nil // another headline is decided
		}
		n, ok := c.loopRatio(arm, func(arm int) (float64, bool) { return c.inFlight(arm) })
		r, known := c.loopRatio(arm, func(arm int) (float64, bool) {
			mean, ok := c.Table.Mean(arm, "mean")
			return mean + c.Table.Demands[arm].Think.Seconds(), ok
		})
		x, seen := c.loopRatio(arm, func(arm int) (float64, bool) { return c.Table.Mean(arm, c.Table.Rate) })
		// If the product of the parts is not the whole, they explain nothing.
		if !ok || !known || !seen || math.Abs(math.Log(x*r/n)) > 0.05 {
			return nil
		}
		if c.Table.Demands[0].Think > 0 || c.Table.Demands[arm].Think > 0 {
			return accounts(thinking(n), evidence("in flight", n, "1"), evidence("time", r, "1"), evidence("rate ratio", x, "1"))
		}
		template := "{arm} has {in flight} times as many operations in flight as {baseline}, each takes {time} times as long, so {rate} is {rate ratio} times as high (Little's law)."
		if n == 1 {
			template = "With the same number of operations in flight, each takes {time} times as long with {arm} as with {baseline}, so {rate} is {rate ratio} times as high (Little's law)."
		}
		return accounts(template, evidence("in flight", n, "1"), evidence("time", r, "1"), evidence("rate ratio", x, "1"))
	},
}

// thinking is the sentence where operations are followed by a think time, and so many times as many users think.
func thinking(n float64) string {
	if n == 1 {
		return "With the same concurrency, response time plus think time is {time} times as long with {arm} as with {baseline}, so {rate} is {rate ratio} times as high (Little's law)."
	}
	return "{arm} has {in flight} times the concurrency of {baseline}, response time plus think time is {time} times as long, so {rate} is {rate ratio} times as high (Little's law)."
}

// loopRatio is the ratio of a quantity of the arm to that of the baseline.
func (c *Case) loopRatio(arm int, of func(arm int) (float64, bool)) (float64, bool) {
	a, ok := of(0)
	b, found := of(arm)
	return b / a, ok && found && a > 0 && b > 0
}
