package rule

import (
	"strings"

	"plimsoll/internal/finding"
)

// accounting names the term of an exact decomposition that covers most of a decided effect.
var accounting = Rule{
	Name:   "accounting",
	Doc:    "the term of an exact decomposition that covers at least half of the effect",
	Effect: true,
	Check: func(c *Case, arm int) *Found {
		var best *finding.Account
		most, term := 0.0, ""
		for i := range c.Accounts {
			a := &c.Accounts[i]
			if a.Arm != arm || a.Identity == closedLoop.Name || !c.decidedMetric(arm, a.Metric.Name) {
				continue
			}
			if name, share := covering(a); share > most {
				best, most, term = a, share, name
			}
		}
		if best == nil {
			return nil
		}
		names := map[string]string{"covering": strings.ToUpper(term[:1]) + term[1:]}
		says := "Change of {whole} with {arm}: " + best.Template(names) +
			". {covering} covers {account:" + finding.Key(best.Identity, arm) + "/" + term + " share} of it."
		return &Found{Says: says, Grade: finding.AccountsFor, Names: names}
	},
}

// covering is the term with the largest share of the effect, if it covers at least half.
func covering(a *finding.Account) (name string, share float64) {
	for _, t := range a.Terms {
		if t.Covers && t.Share > share {
			name, share = t.Name, t.Share
		}
	}
	return name, share
}

// decidedMetric reports whether a headline of the arm differs significantly from the baseline.
func (c *Case) decidedMetric(arm int, metric string) bool {
	for i := range c.Headlines {
		if h := &c.Headlines[i]; h.Arm == arm && h.Metric.Name == metric && decided(*h) {
			return true
		}
	}
	return false
}
