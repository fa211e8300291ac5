// Package finding holds what the records of a study mean, as findings.json stores it:
// verdicts, certificate, explanations, audit. The rooms below it judge the records;
// none touches a machine, so that old results can always be judged by newer rules.
package finding

import (
	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
	"plimsoll/internal/sentence"
)

// Format is the version of findings.json: it changes when a field does.
const Format = 2

// Findings is the result of the analysis of a study. It is stored as findings.json, and the
// report is made from it.
type Findings struct {
	Format   int    `json:"format"` // of findings.json: see Format
	Study    string `json:"study"`
	Question string `json:"question"`
	sentence.Sentence
	Seed    uint64     `json:"seed"`
	Arms    []plan.Arm `json:"arms"`
	Level   float64    `json:"level"`           // confidence level of the headlines' intervals together, over looks, metrics and arms
	Error   float64    `json:"error"`           // two-sided error of the interval of one headline at one look, derived from Level
	Looks   []int      `json:"looks,omitempty"` // planned looks
	Least   int        `json:"least"`           // fewest blocks that carry a verdict
	Margin  float64    `json:"margin"`          // smallest effect of interest, as a share
	Planned int        `json:"planned"`         // largest number of blocks planned
	Blocks  int        `json:"blocks"`          // complete blocks judged
	Trials  int        `json:"trials"`          // run, void ones included
	Void    []Void     `json:"void,omitempty"`

	Faults []Fault `json:"faults,omitempty"` // failed operations by their faults, the most frequent of an arm first

	DataFailures []DataFailure `json:"dataFailures,omitempty"` // failed checks of data: they come before any verdict

	Summaries      []Summary       `json:"summaries"`             // each metric of each arm
	Peaks          []Peak          `json:"peaks,omitempty"`       // of studies that search for one, by arm
	ScaleOut       *ScaleOut       `json:"scaleOut,omitempty"`    // of studies that vary a number of units
	Headlines      []Comparison    `json:"headlines"`             // simultaneous; only these may be coloured
	Exploratory    []Comparison    `json:"exploratory,omitempty"` // Benjamini-Hochberg at 10 %; grey
	Families       []Family        `json:"families,omitempty"`    // spread that the exploratory comparisons of an arm share
	Certificate    []measure.Check `json:"certificate"`
	Explanations   []Explanation   `json:"explanations,omitempty"`
	NotJudged      []string        `json:"notJudged,omitempty"` // by rule: missing data
	Recommendation *Recommendation `json:"recommendation,omitempty"`
	Tuning         *Tuning         `json:"tuning,omitempty"`
	Audit          []Claim         `json:"audit,omitempty"` // claims of the published figures and of our own sentences
	Limits         []LimitResult   `json:"limits,omitempty"`
}

// SummaryLevel is the confidence level of the intervals of summaries.
const SummaryLevel = 0.95

// Peak is the highest rate at which an arm kept the limits of the search, from
// the probes of all its trials together.
type Peak struct {
	Arm int `json:"arm"`
	measure.Peak
	Probes int `json:"probes"` // that were used
	sentence.Sentence
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
	Mean   float64        `json:"mean"` // of a headline that is compared, adjusted for the order and outlying trials: the ratio to the baseline's is the comparison's
	Low    float64        `json:"low"`  // 95 % interval of the mean; equal to Mean below 2 trials
	High   float64        `json:"high"`
	Values []float64      `json:"values,omitempty"` // one a trial, in block order; headlines only
	Blocks []int          `json:"blocks,omitempty"` // block of each value
	Order  []int          `json:"order,omitempty"`  // number of the trial of each value
}

// Claim is a sentence with the outcome of its audit: it holds, does not hold, or is not
// understood.
type Claim struct {
	Sentence string `json:"sentence"`
	Computed string `json:"computed"`
	Holds    bool   `json:"holds"`
	Fault    string `json:"fault,omitempty"` // "sign missing", "fails Little's law", ...
	// NotUnderstood is set where nothing could be recomputed; Fault is why.
	NotUnderstood bool `json:"notUnderstood,omitempty"`
}

// LimitResult is a declared limit held against the measured metric.
type LimitResult struct {
	Limit string        `json:"limit"`
	Arm   int           `json:"arm"`
	Value float64       `json:"value"`
	State measure.State `json:"state"`
}

// Summary is the summary of a metric of an arm; nil where there is none.
func (f *Findings) Summary(metric string, arm int) *Summary {
	for i := range f.Summaries {
		if s := &f.Summaries[i]; s.Arm == arm && s.Metric.Name == metric {
			return s
		}
	}
	return nil
}

// Label is the name of an arm inside a sentence.
func (f *Findings) Label(arm int) string {
	if arm < 0 || arm >= len(f.Arms) {
		return "an unknown arm"
	}
	return Called(f.Arms[arm].Label)
}

// Called is the label of an arm inside a sentence.
func Called(label string) string {
	if label == "baseline" {
		return "the baseline"
	}
	return label
}
