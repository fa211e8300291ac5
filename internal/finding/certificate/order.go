package certificate

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/finding/compare"
	"plimsoll/internal/finding/table"
	"plimsoll/internal/measure"
	"plimsoll/internal/quantity"
	"plimsoll/internal/stat"
)

// balanced checks the actual order of the trials. If an arm always ran on the same side of the
// baseline, order and factor are confounded, whatever the number of blocks.
func (c *checks) balanced() measure.Check {
	check := measure.Check{Name: "order balanced", State: measure.Pass}
	blocks, late := c.byBlock(), 0
	second, both := make([]int, c.table.Arms), make([]int, c.table.Arms)
	for _, trials := range blocks {
		at := map[int]int{}
		for i, r := range trials {
			at[r.Arm] = i + 1
			if i > 0 && r.Start.Before(trials[i-1].Start) {
				late++
			}
		}
		for arm := 1; arm < c.table.Arms; arm++ {
			if at[arm] > 0 && at[0] > 0 {
				both[arm]++
				if at[arm] > at[0] {
					second[arm]++
				}
			}
		}
	}
	var parts []string
	for arm := 1; arm < c.table.Arms; arm++ {
		parts = append(parts, fmt.Sprintf("%s ran after %s in %d of %d blocks", c.table.Label(arm), c.table.Label(0), second[arm], both[arm]))
		if both[arm] > 1 && (second[arm] == 0 || second[arm] == both[arm]) {
			check.State = measure.Fail
			check.Detail = parts[len(parts)-1] + ": order and factor are confounded"
		}
	}
	switch {
	case late > 0:
		check.State = measure.Fail
		check.Detail = fmt.Sprintf("%d %s started out of order: not the order drawn from the seed", late, quantity.Plural(late, "trial"))
	case check.State == measure.Fail:
	case slices.Max(both) < 2:
		check.State, check.Detail = measure.Unknown, "fewer than 2 complete blocks"
	case len(parts) > mostOrders:
		check.Detail = fmt.Sprintf("each of the %d arms ran before and after %s", c.table.Arms, c.table.Label(0))
	default:
		check.Detail = strings.Join(parts, "; ")
	}
	return check
}

// mostOrders is the largest number of arms that the check of the order names.
const mostOrders = 3

// orderEffect estimates the effect of running second in a block, for which comparisons are
// corrected. One beyond the margin is a sign of carry-over between trials.
func (c *checks) orderEffect() measure.Check {
	check := measure.Check{Name: "effect of the order", State: measure.Unknown, Detail: "no headline has an estimate"}
	var all []string
	for i := range c.headlines {
		h := &c.headlines[i]
		if h.Order == nil || h.Blocks < stat.LeastBlocks {
			continue
		}
		name := h.Metric.Name
		if c.table.Arms > 2 {
			name += " with " + c.table.Label(h.Arm)
		}
		all = append(all, fmt.Sprintf("%s %s (%s to %s)", name, quantity.Percent(h.Order.Ratio-1), quantity.Percent(h.Order.Low-1), quantity.Percent(h.Order.High-1)))
		switch stat.Judge(math.Log(h.Order.Low), math.Log(h.Order.High), c.table.Study.Margin) {
		case stat.Above, stat.Below:
			check.State = measure.Fail
		}
	}
	if all == nil {
		return check
	}
	check.Detail = "effect of running second in a block: " + strings.Join(first(all), ", ") + "; estimates are corrected for it"
	if check.State == measure.Fail {
		check.Detail += ", but trials carry over to the next: increase measure.settle"
		return check
	}
	check.State = measure.Pass
	return check
}

// byBlock returns the trials of each block in the order of their numbers.
func (c *checks) byBlock() [][]measure.Record {
	groups := make([][]measure.Record, len(c.table.Blocks))
	for i := range c.table.Valid {
		b := c.table.Block[i]
		groups[b] = append(groups[b], c.table.Valid[i])
	}
	for _, g := range groups {
		slices.SortStableFunc(g, func(a, b measure.Record) int { return a.Trial - b.Trial })
	}
	return groups
}

// warmupAlpha is the error of the test of warm-ups: one false alarm in a hundred studies.
const warmupAlpha = 0.01

// warmups compares the lengths of warm-ups. A factor that changes the warm-up is itself a
// finding, and a warning that the arms may not be equally warm.
func (c *checks) warmups() measure.Check {
	check := measure.Check{Name: "warm-up of the arms", State: measure.Pass, Detail: "no difference in discarded warm-up between arms"}
	if c.table.Study.Measure.Warmup >= 0 {
		check.Detail = "the warm-up is fixed"
		return check
	}
	col := c.table.Column(table.Warmup)
	if col == nil {
		check.State, check.Detail = measure.Unknown, "no trial recorded its warm-up"
		return check
	}
	var tests []float64
	for arm := 1; arm < c.table.Arms; arm++ {
		tests = append(tests, stat.PairedT(compare.Differences(c.table, col, arm), compare.ExploreLevel).P)
	}
	for i, adjusted := range stat.Holm(tests) {
		if adjusted <= warmupAlpha {
			a, _ := c.table.Mean(0, table.Warmup)
			b, _ := c.table.Mean(i+1, table.Warmup)
			check.State = measure.Fail
			check.Detail = fmt.Sprintf("%s discarded with %s, %s with %s: the factor changes the warm-up", quantity.Of(a, "s"), c.table.Label(0), quantity.Of(b, "s"), c.table.Label(i+1))
			break
		}
	}
	return check
}

// noiseFloor is the resolution of this testbed. Without an A/A census it is unknown; the
// variation between the trials of an arm is only a hint.
func (c *checks) noiseFloor() measure.Check {
	check := measure.Check{Name: "noise floor", State: measure.Unknown, Detail: "no A/A study of this testbed: its false-positive rate is unknown"}
	if len(c.table.Study.Headline) == 0 {
		return check
	}
	if c.nothingVaries() {
		return c.census()
	}
	name := c.table.Study.Headline[0]
	col := c.table.Column(name)
	if col == nil || !col.Positive {
		return check
	}
	var squares float64
	freedom := 0
	for arm := range c.table.Arms {
		values, _, _ := c.table.Sample(col, arm)
		if p := stat.PairedT(compare.Logs(values), compare.ExploreLevel); len(values) > 1 {
			squares += p.SD * p.SD * float64(len(values)-1)
			freedom += len(values) - 1
		}
	}
	if freedom > 0 {
		check.Detail += fmt.Sprintf("; coefficient of variation between trials of an arm: %s in %s", quantity.Share(quantity.Round(math.Sqrt(squares/float64(freedom)), 2)), name)
	}
	return check
}

// nothingVaries reports whether the study is an A/A study, whose arms differ by a label only.
func (c *checks) nothingVaries() bool {
	varied := false
	for _, f := range c.table.Study.Factors {
		if len(f.Levels) < 2 {
			continue
		}
		if f.Name != "label" {
			return false
		}
		varied = true
	}
	return varied
}

// census is the result of an A/A study: there should be no difference.
func (c *checks) census() measure.Check {
	check := measure.Check{Name: "noise floor", State: measure.Pass, Detail: "A/A study without a difference"}
	for _, h := range c.headlines {
		if h.Verdict.Differs() {
			check.State = measure.Fail
			check.Detail = fmt.Sprintf("A/A study, yet %s of %s differs by %s: this testbed cannot resolve effects of that size", h.Metric.Name, c.table.Label(h.Arm), quantity.Percent(h.Ratio-1))
			return check
		}
	}
	return check
}
