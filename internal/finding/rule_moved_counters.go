package finding

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// mostMoved is how many counters are named.
const mostMoved = 3

// movedCounters names the counters that moved most clearly together with a decided
// effect.
func movedCounters() Rule {
	const name = "moved_counters"
	return Rule{
		Name:   name,
		Doc:    "counters of the host that moved together with the effect",
		Effect: true,
		Check: func(c *Case, arm int) []Explanation {
			moved := c.moved(arm)
			if len(moved) == 0 {
				return nil
			}
			f := Found{Rule: name, Arm: arm, Grade: MovedWith, Names: map[string]string{}}
			var parts []string
			for i, one := range moved[:min(mostMoved, len(moved))] {
				key := fmt.Sprintf("counter %d", i)
				f.Names[key] = one.Metric.Name
				f.Evidence = append(f.Evidence, Evidence{one.Metric.Name, one.Ratio - 1, "share"})
				parts = append(parts, fmt.Sprintf("{%s} {%s/change}", key, place(one.Metric.Name, arm)))
			}
			return []Explanation{c.Explain("Counters that changed along with {arm}: "+strings.Join(parts, ", ")+".", f)}
		},
	}
}

// moved lists the counters that moved, clearest first. Where the arms carry
// different loads, a counter that moved just as the load did says nothing. One that
// stayed while the load moved comes last: it may be work that became cheaper, or a
// background that does not care.
func (c *Case) moved(arm int) []Comparison {
	same := c.openLoop(arm) || c.sameLoad(arm)
	load, _ := c.loopRatio(arm, func(arm int) (float64, bool) { return c.Mean(arm, c.Rate) })
	different := map[string]bool{}
	for _, one := range c.view.exploratory {
		if one.Arm == arm && one.Verdict.Differs() && !one.NoInterval {
			different[one.Metric.Name] = true
		}
	}
	var beyond, stayed []Comparison
	for _, one := range c.view.exploratory {
		name := one.Metric.Name
		at, known := c.view.byName[name]
		if one.Arm != arm || !different[name] || !known || c.view.columns[at].origin == ofWorkload {
			continue
		}
		whole, each := strings.CutSuffix(name, "/op")
		_, counted := c.view.byName[name+"/op"]
		switch {
		case same || each && different[whole]:
			beyond = append(beyond, one)
		case each:
			stayed = append(stayed, one)
		case counted: // judged by what each operation takes
		case one.Low > load || one.High < load:
			beyond = append(beyond, one)
		}
	}
	for _, list := range [][]Comparison{beyond, stayed} {
		slices.SortStableFunc(list, func(a, b Comparison) int { return cmp.Compare(a.P, b.P) })
	}
	return append(beyond, stayed...)
}
