package finding

import (
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/sentence"
)

// Tuning is the story of the closed loop, in order.
type Tuning struct {
	Goal   string  `json:"goal"`
	Rounds []Round `json:"rounds"`
	End    string  `json:"end"` // why it ended, as a sentence without its full stop
	sentence.Sentence
	Final map[string]string `json:"final"` // settings kept, by factor
}

// Round is one turn of the closed loop.
type Round struct {
	Measured       string          `json:"measured"` // folder of the run that the rule read, below the results folder
	Recommendation *Recommendation `json:"recommendation,omitempty"`
	Verified       string          `json:"verified,omitempty"`     // folder of the run on fresh blocks
	MeasuredSeed   uint64          `json:"measuredSeed,omitempty"` // of the run that the rule read
	Seed           uint64          `json:"seed,omitempty"`         // of the fresh blocks
	Outcome        Outcome         `json:"outcome"`
	Reason         string          `json:"reason,omitempty"`       // of the outcome, as a phrase
	Verification   *Comparison     `json:"verification,omitempty"` // the claim: the estimate on fresh blocks
	Bound          float64         `json:"bound,omitempty"`        // least gain as a share, one-sided at BoundLevel
	BoundLevel     float64         `json:"boundLevel,omitempty"`
	BoundP         float64         `json:"boundP,omitempty"`
	Guards         []Comparison    `json:"guards,omitempty"` // guards: metrics that must not suffer, and other headlines
	Limits         []LimitResult   `json:"limits,omitempty"` // the floor of the goal, after the change
}

// Aim is the goal as a verb, "maximise iops"; earlier versions stored "most iops".
func (t *Tuning) Aim() string {
	return strings.NewReplacer("most ", "maximise ", "least ", "minimise ").Replace(t.Goal)
}

// BoundRatio is the bound as the ratio of the metric after to before: below 1
// where the least gain is a loss of something that is better low.
func (r *Round) BoundRatio() float64 {
	if r.Verification != nil && r.Verification.Metric.Better == measure.LowerIsBetter {
		return 1 - r.Bound
	}
	return 1 + r.Bound
}

// Outcome is how a round of the closed loop ended.
type Outcome string

// The outcomes of a round. An unconfirmed change is rolled back.
const (
	Kept        Outcome = "kept"
	RolledBack  Outcome = "rolled back"
	NoRuleFired Outcome = "no rule fired"
)
