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
		var term *finding.Term
		most := 0.0
		for i := range c.Accounts {
			a := &c.Accounts[i]
			if a.Arm != arm || a.Identity == closedLoop.Name || !c.decidedMetric(arm, a.Metric.Name) {
				continue
			}
			if t := covering(a); t != nil && t.Share > most {
				best, most, term = a, t.Share, t
			}
		}
		if best == nil {
			return nil
		}
		label := term.Label()
		names := map[string]string{"covering": strings.ToUpper(label[:1]) + label[1:]}
		says := "Change of {whole} with {arm}: " + best.Template(names) +
			". {covering} covers {account:" + finding.Key(best.Identity, arm) + "/" + term.Name + " share} of it."
		return &Found{Says: says, Grade: finding.AccountsFor, Names: names}
	},
}

// covering is the term with the largest share of the effect, if it covers at least half; else
// nil.
func covering(a *finding.Account) (most *finding.Term) {
	for i := range a.Terms {
		if t := &a.Terms[i]; t.Covers && (most == nil || t.Share > most.Share) {
			most = t
		}
	}
	return most
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
