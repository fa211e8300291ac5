package content

import (
	"math"

	"plimsoll/internal/finding"
	"plimsoll/internal/quantity"
	"plimsoll/internal/report"
)

// MostAccounts is the largest number of decompositions in plain text and Markdown.
const MostAccounts = 3

// Account is an exact decomposition of a change, in lines.
type Account struct {
	Heading string
	Terms   []AccountTerm
}

// AccountTerm is a line of a decomposition; the last is the whole.
type AccountTerm struct {
	Name, Change, Between, Share string
}

// Accounts are the decompositions.
func Accounts(s *report.Sources) []Account {
	var all []Account
	for i := range s.Findings.Accounts {
		a := &s.Findings.Accounts[i]
		if !a.Divided() {
			continue
		}
		one := Account{Heading: "Change of " + a.Metric.Name + " with " + s.Brief(a.Arm)}
		for k := range a.Terms {
			t := &a.Terms[k]
			share := ""
			if t.Name != finding.Residual {
				share = quantity.Share(math.Round(100*t.Share)/100+0) + " of it" // no -0
			}
			if t.Seen() {
				one.Terms = append(one.Terms, accountTerm(t, t.Label(), share))
			}
		}
		one.Terms = append(one.Terms, accountTerm(&a.Whole, "together", report.Plural(a.Blocks, "block", "blocks")))
		all = append(all, one)
	}
	return all
}

func accountTerm(t *finding.Term, name, share string) AccountTerm {
	line := AccountTerm{Name: name, Change: report.Within(t.Ratio, t.Low, t.High), Share: share, Between: "no interval"}
	if !t.NoInterval {
		line.Between = report.Within(t.Low, t.Low, t.High) + " to " + report.Within(t.High, t.Low, t.High)
	}
	return line
}
