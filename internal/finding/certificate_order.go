package finding

import (
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/measure"
	"plimsoll/internal/stat"
)

// randomised checks the order of the trials as it was, not as it was planned.
func (c *Case) randomised() measure.Check {
	check := measure.Check{Name: "order randomised", State: measure.Pass}
	orders, begun, late := map[string]int{}, 0, 0
	for _, trials := range c.byBlock() {
		order := make([]int, 0, len(trials))
		for i, r := range trials {
			order = append(order, r.Arm)
			if i > 0 && r.Start.Before(trials[i-1].Start) {
				late++
			}
		}
		if len(order) >= c.view.arms {
			orders[fmt.Sprint(order)]++
			begun++
		}
	}
	check.Detail = fmt.Sprintf("%d orders in %d blocks, from the seed", len(orders), begun)
	switch {
	case late > 0:
		check.State = measure.Fail
		check.Detail = fmt.Sprintf("%d trials began before one of a lower number: they were not run in the order drawn", late)
	case len(orders) == 1 && c.sameByChance(begun) < 0.001:
		check.State = measure.Fail
		check.Detail = fmt.Sprintf("all %d blocks ran in the same order: drift and order cannot be told from the factor", begun)
	case begun == 0:
		check.State = measure.Unknown
		check.Detail = "no complete block"
	}
	return check
}

// sameByChance is the probability that random order is the same in all blocks.
func (c *Case) sameByChance(blocks int) float64 {
	p, _ := math.Lgamma(float64(c.view.arms) + 1)
	return math.Exp(-p * float64(max(0, blocks-1)))
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
		values, _ := c.view.sample(&c.view.columns[at], arm)
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
