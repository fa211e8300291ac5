// Package claim recomputes claims about measurements in texts: changes in percent, factors and
// points, latencies of closed loops, shares, sums, averages and rates.
//
// A claim is refuted only by values that the text itself gives. Each printed number stands for
// the interval of half a unit of its last digit; a claim holds if some values in these
// intervals are consistent with it. A claim that is ambiguous or has no values to recompute
// from is reported as not understood. The package is pure. Its time is linear in the length of
// the text, apart from the bounded number of numbers in a sentence.
package claim

// Status is the outcome of the audit of one claim.
type Status string

// The outcomes.
const (
	Holds         Status = "holds"
	DoesNotHold   Status = "does not hold"
	NotUnderstood Status = "not understood"
)

// Claim is one claim of a text with its outcome. A sentence has one per statement, and at
// least one if it has a number.
type Claim struct {
	Line     int    `json:"line"` // where the sentence begins, from 1
	Text     string `json:"text"` // the sentence, or the row of a table
	Said     string `json:"said,omitempty"`
	Status   Status `json:"status"`
	Computed string `json:"computed,omitempty"`
	Reason   string `json:"reason,omitempty"`  // of a claim that does not hold, or is not understood
	Wording  string `json:"wording,omitempty"` // that would be correct
}

// Doubt marks the claim as not understood.
func (c *Claim) Doubt(why string) { c.Status, c.Reason, c.Wording = NotUnderstood, why, "" }

// Refute marks the claim as wrong, with a corrected wording.
func (c *Claim) Refute(why, wording string) {
	c.Status, c.Reason, c.Wording = DoesNotHold, why, wording
}

// Hold marks the claim as correct.
func (c *Claim) Hold() { c.Status, c.Reason, c.Wording = Holds, "", "" }

// Counts is the number of claims of each outcome.
type Counts struct {
	Holds         int `json:"holds"`
	DoesNotHold   int `json:"does_not_hold"`
	NotUnderstood int `json:"not_understood"`
}

// Count counts the outcomes.
func Count(claims []Claim) Counts {
	var n Counts
	for i := range claims {
		switch claims[i].Status {
		case Holds:
			n.Holds++
		case DoesNotHold:
			n.DoesNotHold++
		default:
			n.NotUnderstood++
		}
	}
	return n
}
