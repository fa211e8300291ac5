// Package finding holds the result of the analysis of a study, as findings.json stores it:
// verdicts, certificate, explanations, audit. The packages below it analyse the records; none
// touches a machine, so that newer rules can judge old results.
package finding

import (
	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
	"plimsoll/internal/sentence"
)

// Format is the version of findings.json, raised with every incompatible change.
const Format = 2

// Findings is the result of the analysis of a study, stored as findings.json and the input of
// the report.
type Findings struct {
	Format   int    `json:"format"` // of findings.json: see Format
	Study    string `json:"study"`
	Question string `json:"question"`
	sentence.Sentence
	Seed    uint64     `json:"seed"`
	Arms    []plan.Arm `json:"arms"`
	Level   float64    `json:"level"`           // confidence level of the headlines' intervals, simultaneous over looks, metrics and arms
	Error   float64    `json:"error"`           // two-sided error of the interval of one headline at one look
	Looks   []int      `json:"looks,omitempty"` // planned looks
	Least   int        `json:"least"`           // fewest blocks for a verdict
	Margin  float64    `json:"margin"`          // smallest effect of interest, as a share
	Planned int        `json:"planned"`         // largest number of blocks planned
	Blocks  int        `json:"blocks"`          // complete blocks judged
	Trials  int        `json:"trials"`          // including void ones
	Void    []Void     `json:"void,omitempty"`

	Faults []Fault `json:"faults,omitempty"` // failed operations by their faults, the most frequent of an arm first

	DataFailures []DataFailure `json:"dataFailures,omitempty"` // failed checks of data, shown before any verdict

	Summaries      []Summary       `json:"summaries"`             // each metric of each arm
	Peaks          []Peak          `json:"peaks,omitempty"`       // of searches, by arm
	TileEnds       []TileEnd       `json:"tileEnds,omitempty"`    // of growths of tiles, by arm
	ScaleOut       *ScaleOut       `json:"scaleOut,omitempty"`    // of studies that vary a number of units
	Headlines      []Comparison    `json:"headlines"`             // simultaneous intervals; only these have colour
	Exploratory    []Comparison    `json:"exploratory,omitempty"` // Benjamini-Hochberg at 10 %; grey
	Families       []Family        `json:"families,omitempty"`    // prior of the variances of an arm's exploratory comparisons
	Accounts       []Account       `json:"accounts,omitempty"`    // exact decompositions of changes
	Moved          []Moved         `json:"moved,omitempty"`       // counters that changed along with a decided effect, ranked
	Certificate    []measure.Check `json:"certificate"`
	Explanations   []Explanation   `json:"explanations,omitempty"`
	NotJudged      []string        `json:"notJudged,omitempty"`     // rules without the data that they need
	Interventions  []Intervention  `json:"interventions,omitempty"` // tests of whether the best explanations are the cause, in order
	Untested       *Untested       `json:"untested,omitempty"`      // why no further counter was tested; nil if none was to be
	Recommendation *Recommendation `json:"recommendation,omitempty"`
	Tuning         *Tuning         `json:"tuning,omitempty"`
	Audit          []Claim         `json:"audit,omitempty"` // claims of the published figures and of the report's sentences
	Limits         []LimitResult   `json:"limits,omitempty"`
}

// SummaryLevel is the confidence level of the intervals of summaries.
const SummaryLevel = 0.95

// Peak is the highest rate at which an arm met the limits of the search, from the probes of
// all its trials.
type Peak struct {
	Arm int `json:"arm"`
	measure.Peak
	Probes int `json:"probes"` // number of probes used
	sentence.Sentence
}

// Void is a void trial.
type Void struct {
	Trial int    `json:"trial"`
	Arm   int    `json:"arm"`
	Cause string `json:"cause"`
}

// Summary is one metric of one arm over its valid trials: the geometric mean with a t interval
// on the log scale if all values are positive, else the arithmetic mean.
type Summary struct {
	Metric measure.Metric `json:"metric"`
	Arm    int            `json:"arm"`
	Trials int            `json:"trials"`
	Mean   float64        `json:"mean"` // of a compared headline: adjusted for order and outlying trials, consistent with the comparison's ratio
	Low    float64        `json:"low"`  // 95 % interval of the mean; equal to Mean below 2 trials
	High   float64        `json:"high"`
	Values []float64      `json:"values,omitempty"` // one per trial, in block order; headlines only
	Blocks []int          `json:"blocks,omitempty"` // block of each value
	Order  []int          `json:"order,omitempty"`  // trial number of each value
	Stolen []float64      `json:"stolen,omitempty"` // share of the CPU time wanted that the hypervisor gave to others, in the trial of each value; absent if none
	Wanted []float64      `json:"wanted,omitempty"` // CPUs wanted, likewise
}

// Claim is a sentence with the outcome of its audit: it holds, does not hold, or is not
// understood.
type Claim struct {
	Sentence string `json:"sentence"`
	Computed string `json:"computed"`
	Holds    bool   `json:"holds"`
	Fault    string `json:"fault,omitempty"` // "sign missing", "fails Little's law", ...
	// NotUnderstood is set if nothing could be recomputed; Fault has the reason.
	NotUnderstood bool `json:"notUnderstood,omitempty"`
}

// LimitResult is the result of a declared limit.
type LimitResult struct {
	Limit string        `json:"limit"`
	Arm   int           `json:"arm"`
	Value float64       `json:"value"`
	State measure.State `json:"state"`
}

// Summary is the summary of a metric of an arm; nil if there is none.
func (f *Findings) Summary(metric string, arm int) *Summary {
	for i := range f.Summaries {
		if s := &f.Summaries[i]; s.Arm == arm && s.Metric.Name == metric {
			return s
		}
	}
	return nil
}

// Label is the name of an arm within a sentence.
func (f *Findings) Label(arm int) string {
	if arm < 0 || arm >= len(f.Arms) {
		return "an unknown arm"
	}
	return InSentence(f.Arms[arm].Label)
}

// InSentence is a label as it is written within a sentence.
func InSentence(label string) string {
	if label == "baseline" {
		return "the baseline"
	}
	return label
}
