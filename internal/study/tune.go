package study

import (
	"time"
)

// Tune is what tune may change, and for how long.
type Tune struct {
	// Candidates are settings with the levels to try, in order; empty for those of the catalog.
	Candidates []Factor      `json:"candidates,omitempty"`
	RulesOnly  bool          `json:"rulesOnly,omitempty"` // candidates: {}
	Unsafe     bool          `json:"unsafe,omitempty"`    // levels that can lose data or weaken security are tried too
	Changes    int           `json:"changes,omitempty"`   // largest number of changes to try; 0 is the default
	Time       time.Duration `json:"time,omitempty"`      // budget; 0 is none
}

// Settings are the candidates that are parameters of the workload or the service.
func (t *Tune) Settings() (all []Factor) {
	for i := 0; t != nil && i < len(t.Candidates); i++ {
		if t.Candidates[i].Parameter != "" {
			all = append(all, t.Candidates[i])
		}
	}
	return all
}
