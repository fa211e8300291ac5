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
	// Start are the former levels of what was tried, by factor.
	Start map[string]string `json:"start,omitempty"`
	// Violated are the floors that the settings before the tuning violate.
	Violated []LimitResult `json:"violated,omitempty"`
	Searches []Search      `json:"searches,omitempty"`
	Checks   []Interplay   `json:"checks,omitempty"`
	NotTried []Idea        `json:"notTried,omitempty"`
}

// Search is a race of candidate levels, each changed alone from the settings kept so far.
type Search struct {
	Measured []string   `json:"measured"` // folders of its runs, below the results folder
	Levels   []Searched `json:"levels"`   // in the order of the candidates
}

// Searched is a level in a race. Its gain is an estimate that suggests a change; it is not a result.
type Searched struct {
	Factor  string  `json:"factor"`
	From    string  `json:"from"`
	Level   string  `json:"level"`
	Gain    float64 `json:"gain"`   // estimate against the present level, as a share, positive for better
	Error   float64 `json:"error"`  // its standard error
	Blocks  int     `json:"blocks"` // 0 if it was not measured
	Outcome string  `json:"outcome"`
}

// Interplay is an interaction check: the changes together against the settings before the tuning, and
// each taken back alone.
type Interplay struct {
	Measured string         `json:"measured"` // folder of its run
	Seed     uint64         `json:"seed"`
	Blocks   int            `json:"blocks"`
	Together Contribution   `json:"together"`
	Alone    []Contribution `json:"alone,omitempty"`
	Dropped  string         `json:"dropped,omitempty"` // factor of the change that was taken back, if one was
}

// Contribution is the gain of the changes, or of one of them beside the others.
type Contribution struct {
	Factor string  `json:"factor,omitempty"` // empty for all together
	Gain   float64 `json:"gain"`             // as a share of the metric without, positive for better
	Bound  float64 `json:"bound"`            // one-sided lower bound at 95 %
}

// Confirmed reports whether the gain excludes 0.
func (c Contribution) Confirmed() bool { return c.Bound > 0 }

// Idea is a change that was not tried, with the reason.
type Idea struct {
	Factor string `json:"factor"`
	Level  string `json:"level,omitempty"` // empty for all levels
	Reason string `json:"reason"`
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
	// TakenBack is a change that was kept, and that the interaction check took back.
	TakenBack Outcome = "taken back"
)
