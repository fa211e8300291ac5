package finding

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/stat"
)

// balanced checks the order of the trials as it was, not as it was planned. Where
// an arm ran on the same side of the baseline in every block, no number of blocks
// tells the effect of the order from that of the factor.
func (c *Case) balanced() measure.Check {
	check := measure.Check{Name: "order balanced", State: measure.Pass}
	blocks, late := c.byBlock(), 0
	second, both := make([]int, c.view.arms), make([]int, c.view.arms)
	for _, trials := range blocks {
		at := map[int]int{}
		for i, r := range trials {
			at[r.Arm] = i + 1
			if i > 0 && r.Start.Before(trials[i-1].Start) {
				late++
			}
		}
		for arm := 1; arm < c.view.arms; arm++ {
			if at[arm] > 0 && at[0] > 0 {
				both[arm]++
				if at[arm] > at[0] {
					second[arm]++
				}
			}
		}
	}
	var parts []string
	for arm := 1; arm < c.view.arms; arm++ {
		parts = append(parts, fmt.Sprintf("%s ran after %s in %d of %d blocks", c.label(arm), c.label(0), second[arm], both[arm]))
		if both[arm] > 1 && (second[arm] == 0 || second[arm] == both[arm]) {
			check.State = measure.Fail
			check.Detail = parts[len(parts)-1] + ": the effect of the order cannot be told from that of the factor"
		}
	}
	switch {
	case late > 0:
		check.State = measure.Fail
		check.Detail = fmt.Sprintf("%d %s began before one of a lower number: the order was not the one drawn from the seed", late, plural(late, "trial"))
	case check.State == measure.Fail:
	case slices.Max(both) < 2:
		check.State, check.Detail = measure.Unknown, "fewer than 2 complete blocks"
	case len(parts) > mostOrders:
		check.Detail = fmt.Sprintf("each of the %d arms ran before and after %s", c.view.arms, c.label(0))
	default:
		check.Detail = strings.Join(parts, "; ")
	}
	return check
}

// mostOrders is how many arms the check of the order names.
const mostOrders = 3

// orderEffect says what a trial gains or loses by running second in its block. The
// estimates are free of it. One beyond the margin is a sign that trials leave
// something behind for the next.
func (c *Case) orderEffect() measure.Check {
	check := measure.Check{Name: "effect of the order", State: measure.Unknown, Detail: "no headline says"}
	var all []string
	for i := range c.view.headlines {
		h := &c.view.headlines[i]
		if h.Order == nil || h.Blocks < stat.LeastBlocks {
			continue
		}
		name := h.Metric.Name
		if c.view.arms > 2 {
			name += " with " + c.label(h.Arm)
		}
		all = append(all, fmt.Sprintf("%s %s (%s to %s)", name, Percent(h.Order.Ratio-1), Percent(h.Order.Low-1), Percent(h.Order.High-1)))
		switch stat.Judge(math.Log(h.Order.Low), math.Log(h.Order.High), c.Study.Margin) {
		case stat.Above, stat.Below:
			check.State = measure.Fail
		}
	}
	if all == nil {
		return check
	}
	if len(all) > mostOrders {
		all = append(all[:mostOrders], fmt.Sprintf("and %d more", len(all)-mostOrders))
	}
	check.Detail = "running second in a block changes " + strings.Join(all, ", ") + "; the estimates are free of it"
	if check.State == measure.Fail {
		check.Detail += ", but trials leave something behind for the next: lengthen measure.settle"
		return check
	}
	check.State = measure.Pass
	return check
}

// byBlock returns the trials of each block in the order of their numbers.
func (c *Case) byBlock() [][]measure.Record {
	groups := make([][]measure.Record, len(c.view.blocks))
	for i := range c.view.valid {
		b := c.view.block[i]
		groups[b] = append(groups[b], c.view.valid[i])
	}
	for _, g := range groups {
		slices.SortStableFunc(g, func(a, b measure.Record) int { return a.Trial - b.Trial })
	}
	return groups
}

// warmupAlpha keeps chance from raising the alarm more than once in a hundred studies.
const warmupAlpha = 0.01

// warmups compares the warm-up that was cut. A factor that changes warm-up is
// itself a finding, and a warning that the arms may not have been equally warm.
func (c *Case) warmups() measure.Check {
	check := measure.Check{Name: "warm-up of the arms", State: measure.Pass, Detail: "no difference in the warm-up that was cut was seen"}
	if c.Study.Measure.Warmup >= 0 {
		check.Detail = "the warm-up is fixed"
		return check
	}
	at, ok := c.view.byName["warmup"]
	if !ok {
		check.State, check.Detail = measure.Unknown, "no trial says what was cut"
		return check
	}
	p := c.view.pair(&c.view.columns[at])
	var tests []float64
	for arm := 1; arm < c.view.arms; arm++ {
		tests = append(tests, stat.PairedT(differences(p.cells, arm), exploreLevel).P)
	}
	for i, adjusted := range stat.Holm(tests) {
		if adjusted <= warmupAlpha {
			a, _ := c.Mean(0, "warmup")
			b, _ := c.Mean(i+1, "warmup")
			check.State = measure.Fail
			check.Detail = fmt.Sprintf("%s was cut with %s and %s with %s: the factor changes the warm-up, which is itself a finding", Quantity(a, "s"), c.label(0), Quantity(b, "s"), c.label(i+1))
			break
		}
	}
	return check
}

// noiseFloor says what this testbed can resolve. Without an A/A census the floor
// is unknown; the spread between the trials of an arm is at most a hint.
func (c *Case) noiseFloor() measure.Check {
	check := measure.Check{Name: "noise floor", State: measure.Unknown, Detail: "no A/A census of this testbed: what it calls different when nothing changed is unknown"}
	if len(c.Study.Headline) == 0 {
		return check
	}
	if c.nothingVaries() {
		return c.census()
	}
	name := c.Study.Headline[0]
	at, ok := c.view.byName[name]
	if !ok || !c.view.columns[at].positive {
		return check
	}
	var squares float64
	freedom := 0
	for arm := range c.view.arms {
		values, _, _ := c.view.sample(&c.view.columns[at], arm)
		if p := stat.PairedT(logs(values), exploreLevel); len(values) > 1 {
			squares += p.SD * p.SD * float64(len(values)-1)
			freedom += len(values) - 1
		}
	}
	if freedom > 0 {
		check.Detail += fmt.Sprintf("; the trials of one arm vary by %s in %s", Share(roundTo(math.Sqrt(squares/float64(freedom)), 2)), name)
	}
	return check
}

// nothingVaries says whether the study is an A/A study: all that its arms differ by
// is a label.
func (c *Case) nothingVaries() bool {
	varied := false
	for _, f := range c.Study.Factors {
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

// census says what an A/A study found where there is nothing to find.
func (c *Case) census() measure.Check {
	check := measure.Check{Name: "noise floor", State: measure.Pass, Detail: "an A/A study, in which nothing was called different"}
	for _, h := range c.view.headlines {
		if decided(h) {
			check.State = measure.Fail
			check.Detail = fmt.Sprintf("an A/A study, and yet %s of %s was called different by %s: this testbed cannot be trusted with effects of that size", h.Metric.Name, c.label(h.Arm), Percent(h.Ratio-1))
			return check
		}
	}
	return check
}
