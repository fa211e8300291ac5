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
// effect. Where the arms carry different loads only what is counted for each
// operation compares: everything else moves with the load.
func movedCounters() Rule {
	const name = "moved_counters"
	return Rule{
		Name:   name,
		Doc:    "counters of the host that moved together with the effect",
		Effect: true,
		Check: func(c *Case, arm int) []Explanation {
			same := c.openLoop(arm) || c.sameLoad(arm)
			var moved []Comparison
			for _, one := range c.view.exploratory {
				col := c.view.columns[c.view.byName[one.Metric.Name]]
				if one.Arm != arm || one.Verdict != Different || col.origin == ofWorkload || one.NoInterval {
					continue
				}
				if same || strings.HasSuffix(one.Metric.Name, "/op") {
					moved = append(moved, one)
				}
			}
			if len(moved) == 0 {
				return nil
			}
			slices.SortStableFunc(moved, func(a, b Comparison) int { return cmp.Compare(a.P, b.P) })
			f := Found{Rule: name, Arm: arm, Grade: MovedWith, Names: map[string]string{}}
			var parts []string
			for i, one := range moved[:min(mostMoved, len(moved))] {
				key := fmt.Sprintf("counter %d", i)
				f.Names[key] = one.Metric.Name
				f.Evidence = append(f.Evidence, Evidence{one.Metric.Name, one.Ratio - 1, "share"})
				parts = append(parts, fmt.Sprintf("{%s} {%s/change}", key, place(one.Metric.Name, arm)))
			}
			return []Explanation{c.Explain("With the effect of {arm} moved "+strings.Join(parts, ", ")+".", f)}
		},
	}
}
