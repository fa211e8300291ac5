package rule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/table"
)

// mostMoved is the largest number of counters named.
const mostMoved = 3

// movedCounters names the counters that changed most significantly along with a decided
// effect.
var movedCounters = Rule{
	Name:   "moved_counters",
	Doc:    "counters of the host that changed along with the effect",
	Effect: true,
	Check: func(c *Case, arm int) *Found {
		moved := moved(c, arm)
		if len(moved) == 0 {
			return nil
		}
		f := &Found{Grade: finding.MovedWith, Names: map[string]string{}}
		var parts []string
		for i, one := range moved[:min(mostMoved, len(moved))] {
			key := fmt.Sprintf("counter %d", i)
			f.Names[key] = one.Metric.Name
			f.Evidence = append(f.Evidence, evidence(one.Metric.Name, one.Ratio-1, "share"))
			parts = append(parts, fmt.Sprintf("{%s} {%s/change}", key, finding.Key(one.Metric.Name, arm)))
		}
		f.Says = "Counters that changed along with {arm}: " + strings.Join(parts, ", ") + "."
		return f
	},
}

// moved lists the changed counters, most significant first. If the loads of the arms differ, a
// counter that changed in proportion to the load is left out. One that stayed constant while
// the load changed is last: the work may have become cheaper, or it is background activity.
func moved(c *Case, arm int) []finding.Comparison {
	same := c.Table.OpenLoop(arm) || c.Table.SameLoad(arm)
	load, _ := c.loopRatio(arm, func(arm int) (float64, bool) { return c.Table.Mean(arm, c.Table.Rate) })
	different := map[string]bool{}
	for _, one := range c.Exploratory {
		if one.Arm == arm && one.Verdict.Differs() && !one.NoInterval {
			different[one.Metric.Name] = true
		}
	}
	var beyond, stayed []finding.Comparison
	for _, one := range c.Exploratory {
		name := one.Metric.Name
		col := c.Table.Column(name)
		if one.Arm != arm || !different[name] || col == nil || col.Origin == table.Workload {
			continue
		}
		whole, each := strings.CutSuffix(name, "/op")
		counted := c.Table.Column(name+"/op") != nil
		switch {
		case same || each && different[whole]:
			beyond = append(beyond, one)
		case each:
			stayed = append(stayed, one)
		case counted: // compared per operation
		case one.Low > load || one.High < load:
			beyond = append(beyond, one)
		}
	}
	for _, list := range [][]finding.Comparison{beyond, stayed} {
		slices.SortStableFunc(list, func(a, b finding.Comparison) int { return cmp.Compare(a.P, b.P) })
	}
	return append(beyond, stayed...)
}
