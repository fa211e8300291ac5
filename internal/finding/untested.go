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
	// Undecided is the number of counters without a verdict: they were read in at most Blocks
	// blocks, and a verdict needs Least.
	Undecided int `json:"undecided,omitempty"`
	Blocks    int `json:"blocks,omitempty"`
	Least     int `json:"least,omitempty"`
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
	if u.More > 0 {
		lines = append(lines, "counters of lower rank, which were not considered: "+quantity.Count(u.More))
	}
	if u.Undecided > 0 {
		lines = append(lines, fmt.Sprintf("counters and metrics without a verdict: %s, with at most %d blocks of at least %d", quantity.Count(u.Undecided), u.Blocks, u.Least))
	}
	return lines
}
