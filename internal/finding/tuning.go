package finding

import (
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/sentence"
)

// Tuning is the log of a closed-loop tuning, in order.
type Tuning struct {
	Goal   string  `json:"goal"`
	Rounds []Round `json:"rounds"`
	End    string  `json:"end"` // why it ended, without a full stop
	sentence.Sentence
	Final map[string]string `json:"final"` // settings kept, by factor
}

// Round is one round of tuning.
type Round struct {
	Measured       string          `json:"measured"` // folder of the run that the rule analysed, below the results folder
	Recommendation *Recommendation `json:"recommendation,omitempty"`
	Verified       string          `json:"verified,omitempty"`     // folder of the run on fresh blocks
	MeasuredSeed   uint64          `json:"measuredSeed,omitempty"` // of the run that the rule analysed
	Seed           uint64          `json:"seed,omitempty"`         // of the fresh blocks
	Outcome        Outcome         `json:"outcome"`
	Reason         string          `json:"reason,omitempty"`       // of the outcome, as a phrase
	Verification   *Comparison     `json:"verification,omitempty"` // the result: the estimate on fresh blocks
	Bound          float64         `json:"bound,omitempty"`        // one-sided lower bound of the gain at BoundLevel, as a share
	BoundLevel     float64         `json:"boundLevel,omitempty"`
	BoundP         float64         `json:"boundP,omitempty"`
	Guards         []Comparison    `json:"guards,omitempty"` // guards: metrics that must not get worse, and other headlines
	Limits         []LimitResult   `json:"limits,omitempty"` // the floor of the goal, after the change
}

// Aim is the goal as a verb phrase, "maximise iops"; earlier versions stored "most iops".
func (t *Tuning) Aim() string {
	return strings.NewReplacer("most ", "maximise ", "least ", "minimise ").Replace(t.Goal)
}

// BoundRatio is the bound as the ratio of the metric after to before.
func (r *Round) BoundRatio() float64 {
	if r.Verification != nil && r.Verification.Metric.Better == measure.LowerIsBetter {
		return 1 - r.Bound
	}
	return 1 + r.Bound
}

// Outcome is the outcome of a round of tuning.
type Outcome string

// The outcomes of a round. An unconfirmed change is rolled back.
const (
	Kept        Outcome = "kept"
	RolledBack  Outcome = "rolled back"
	NoRuleFired Outcome = "no rule fired"
)
