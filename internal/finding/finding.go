// Package finding says what the records of a study mean: verdicts, the
// certificate, explanations and the audit of claims. It reads records and
// touches no machine, so that old results can always be judged by newer rules.
package finding

import (
	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
)

// Verdict is the answer about one metric of one arm against the baseline.
type Verdict string

// The five answers.
const (
	Better        Verdict = "better"
	Worse         Verdict = "worse"
	Equivalent    Verdict = "equivalent"
	Different     Verdict = "different, size open"
	NotEnoughRuns Verdict = "not enough runs"
)

// Findings is everything that the analysis says about a study. It is stored as
// findings.json, and the report is made from it.
type Findings struct {
	Study    string     `json:"study"`
	Question string     `json:"question"`
	Sentence string     `json:"sentence"` // the verdict in one sentence
	Seed     uint64     `json:"seed"`
	Arms     []plan.Arm `json:"arms"`
	Level    float64    `json:"level"`   // confidence level of the intervals
	Margin   float64    `json:"margin"`  // smallest effect of interest, as a share
	Planned  int        `json:"planned"` // largest number of blocks planned
	Blocks   int        `json:"blocks"`  // complete blocks judged
	Trials   int        `json:"trials"`  // run, void ones included
	Void     []Void     `json:"void,omitempty"`

	Summaries      []Summary       `json:"summaries"`             // each metric of each arm
	Headlines      []Comparison    `json:"headlines"`             // Holm-corrected; only these may be coloured
	Exploratory    []Comparison    `json:"exploratory,omitempty"` // Benjamini-Hochberg at 10 %; grey
	Certificate    []measure.Check `json:"certificate"`
	Explanations   []Explanation   `json:"explanations,omitempty"`
	NotJudged      []string        `json:"notJudged,omitempty"` // rule: what was missing
	Recommendation *Recommendation `json:"recommendation,omitempty"`
	Tuning         *Tuning         `json:"tuning,omitempty"`
	Audit          []Claim         `json:"audit,omitempty"` // claims of the published figures and of our own sentences
	Limits         []LimitResult   `json:"limits,omitempty"`
}

// Void is a trial that does not count.
type Void struct {
	Trial int    `json:"trial"`
	Arm   int    `json:"arm"`
	Cause string `json:"cause"`
}

// Summary is one metric of one arm over its valid trials: geometric mean with
// a t interval on the log scale where all values are positive, else arithmetic.
type Summary struct {
	Metric measure.Metric `json:"metric"`
	Arm    int            `json:"arm"`
	Trials int            `json:"trials"`
	Mean   float64        `json:"mean"`
	Low    float64        `json:"low"` // 95 % interval of the mean; equal to Mean below 2 trials
	High   float64        `json:"high"`
	Values []float64      `json:"values,omitempty"` // one a trial, in block order; headlines only
	Blocks []int          `json:"blocks,omitempty"` // block of each value
}

// Comparison is one metric of one arm against the baseline.
type Comparison struct {
	Metric           measure.Metric `json:"metric"`
	Arm              int            `json:"arm"`
	Blocks           int            `json:"blocks"`
	Ratio            float64        `json:"ratio"` // arm / baseline
	Low              float64        `json:"low"`
	High             float64        `json:"high"`
	P                float64        `json:"p"`        // of the paired t test
	Flip             float64        `json:"flip"`     // of the sign-flip test
	Adjusted         float64        `json:"adjusted"` // Holm or Benjamini-Hochberg
	Verdict          Verdict        `json:"verdict"`
	LeansOnNormality bool           `json:"leansOnNormality,omitempty"` // t and sign-flip disagree about 5 %
	NotRandomised    bool           `json:"notRandomised,omitempty"`    // imported or unpaired: weaker, never "verified"
	More             int            `json:"more,omitempty"`             // about this many more blocks would decide
	Sentence         string         `json:"sentence"`
}

// Grade says how strong an explanation is.
type Grade string

// The grades of an explanation.
const (
	MovedWith   Grade = "moved with it"
	AccountsFor Grade = "accounts for it"
	CausedIt    Grade = "caused it"
)

// Explanation is what a rule found.
type Explanation struct {
	Rule     string     `json:"rule"`
	Grade    Grade      `json:"grade"`
	Sentence string     `json:"sentence"`
	Evidence []Evidence `json:"evidence"`
	Change   *Change    `json:"change,omitempty"` // what the rule would change; nil when there is nothing to change
}

// Evidence is one number behind an explanation.
type Evidence struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// Change is one setting from one value to another.
type Change struct {
	Factor string `json:"factor"` // "storage.threads"
	From   string `json:"from"`
	To     string `json:"to"`
}

// Recommendation is the one change that the analysis names.
type Recommendation struct {
	Rule     string `json:"rule"`
	Change   Change `json:"change"`
	Sentence string `json:"sentence"`
}

// Tuning is the story of the closed loop, in order.
type Tuning struct {
	Goal     string            `json:"goal"`
	Rounds   []Round           `json:"rounds"`
	Sentence string            `json:"sentence"` // how it ended and why
	Final    map[string]string `json:"final"`    // settings kept, by factor
}

// Round is one turn of the closed loop.
type Round struct {
	Measured       string          `json:"measured"` // folder of the run that the rule read, below the results folder
	Recommendation *Recommendation `json:"recommendation,omitempty"`
	Verified       string          `json:"verified,omitempty"` // folder of the run on fresh blocks
	Seed           uint64          `json:"seed,omitempty"`
	Outcome        string          `json:"outcome"` // "kept", "rolled back", "no rule fired"
	Verification   *Comparison     `json:"verification,omitempty"`
	Guards         []Comparison    `json:"guards,omitempty"`
}

// Claim is a sentence that the audit recomputed.
type Claim struct {
	Sentence string `json:"sentence"`
	Computed string `json:"computed"`
	Holds    bool   `json:"holds"`
	Fault    string `json:"fault,omitempty"` // "sign missing", "fails Little's law", ...
}

// LimitResult is a declared limit held against the measured metric.
type LimitResult struct {
	Limit string        `json:"limit"`
	Arm   int           `json:"arm"`
	Value float64       `json:"value"`
	State measure.State `json:"state"`
}
