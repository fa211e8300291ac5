package rule

import (
	"fmt"
	"strings"

	"plimsoll/internal/finding"
)

// mostMoved is the largest number of counters named.
const mostMoved = 3

// movedCounters names the counters that most certainly changed along with a decided effect.
var movedCounters = Rule{
	Name:   "moved_counters",
	Doc:    "counters that changed along with the effect, in order of rank",
	Effect: true,
	Check: func(c *Case, arm int) *Found {
		f := &Found{Grade: finding.MovedWith, Names: map[string]string{}}
		var parts []string
		for _, m := range c.Moved {
			if m.Arm != arm || m.Effect || len(parts) == mostMoved {
				continue
			}
			if m.Grade == finding.AccountsFor && len(parts) == 0 {
				f.Grade = finding.AccountsFor
			}
			parts = append(parts, c.movedPart(f, m, len(parts)))
		}
		if len(parts) == 0 {
			return nil
		}
		f.Says = "Counters that changed along with {arm}: " + strings.Join(parts, ", ") + "."
		return f
	},
}

// movedPart is the template of a counter: its change, or its two values if it is 0 in one arm.
func (c *Case) movedPart(f *Found, m finding.Moved, i int) string {
	key := fmt.Sprintf("counter %d", i)
	f.Names[key] = m.Metric
	part := "{" + key + "} {" + finding.Key(m.Metric, m.Arm) + "/change}"
	for j := range c.Exploratory {
		one := &c.Exploratory[j]
		if one.Arm != m.Arm || one.Metric.Name != m.Metric {
			continue
		}
		if one.NoInterval {
			part = "{" + key + "} from {" + finding.Key(m.Metric, 0) + "/mean} to {" + finding.Key(m.Metric, m.Arm) + "/mean}"
			break
		}
		f.Evidence = append(f.Evidence, evidence(m.Metric, one.Ratio-1, "share"))
	}
	if m.Term != "" {
		f.Names["term "+key] = m.Term
		part += " (in {term " + key + "}, which covers most of the effect)"
	} else if len(m.With) > 0 {
		f.Names["with "+key] = strings.Join(m.With, " and ")
		if len(m.With) > 2 {
			f.Names["with "+key] = m.With[0] + " and others"
		}
		part += " (alike: {with " + key + "})"
	}
	return part
}
