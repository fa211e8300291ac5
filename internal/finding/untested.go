package finding

import (
	"fmt"

	"plimsoll/internal/quantity"
)

// Untested is why no further counter was tested by an intervention.
type Untested struct {
	Reason string `json:"reason"`
	// Counters are those that were considered, in order of rank.
	Counters []Unheld `json:"counters,omitempty"`
	// More is the number of counters of lower rank, which were not considered.
	More int `json:"more,omitempty"`
}

// Unheld is a counter that no factor holds.
type Unheld struct {
	Arm     int    `json:"arm"`
	Counter string `json:"counter"`
	Reason  string `json:"reason"`
}

// Add adds a counter that changed along with an effect.
func (u *Untested) Add(m Moved, reason string) {
	u.Counters = append(u.Counters, Unheld{Arm: m.Arm, Counter: m.Metric, Reason: reason})
}

// Lines are the reasons as sentences: first in general, then one for each counter.
func (u *Untested) Lines() []string {
	if u == nil {
		return nil
	}
	lines := []string{"No intervention: " + u.Reason}
	seen := map[string]bool{} // arms often have the same counters
	for _, c := range u.Counters {
		line := c.Counter + ": " + c.Reason
		if !seen[line] {
			lines = append(lines, line)
		}
		seen[line] = true
	}
	switch {
	case u.More == 1:
		lines = append(lines, "1 counter of lower rank was not considered")
	case u.More > 1:
		lines = append(lines, fmt.Sprintf("%s counters of lower rank were not considered", quantity.Count(u.More)))
	}
	return lines
}
