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

// The answers.
const (
	Better        Verdict = "better"
	Worse         Verdict = "worse"
	Equivalent    Verdict = "equivalent"
	Different     Verdict = "different, size open"
	Changed       Verdict = "different" // beyond the margin, of what has no better direction or is exploratory
	NotEnoughRuns Verdict = "not enough runs"
)

// Format is the version of findings.json: it changes when a field does.
const Format = 2

// Findings is everything that the analysis says about a study. It is stored as
// findings.json, and the report is made from it.
type Findings struct {
	Format   int        `json:"format"` // of findings.json: see Format
	Study    string     `json:"study"`
	Question string     `json:"question"`
	Sentence string     `json:"sentence"` // the verdict in one sentence
	Numbers  []Number   `json:"numbers"`  // the numbers in Sentence
	Seed     uint64     `json:"seed"`
	Arms     []plan.Arm `json:"arms"`
	Level    float64    `json:"level"`           // confidence level of the headlines' intervals together, over looks, metrics and arms
	Error    float64    `json:"error"`           // two-sided error of the interval of one headline at one look, which gives Level
	Looks    []int      `json:"looks,omitempty"` // planned looks
	Least    int        `json:"least"`           // fewest blocks that carry a verdict
	Margin   float64    `json:"margin"`          // smallest effect of interest, as a share
	Planned  int        `json:"planned"`         // largest number of blocks planned
	Blocks   int        `json:"blocks"`          // complete blocks judged
	Trials   int        `json:"trials"`          // run, void ones included
	Void     []Void     `json:"void,omitempty"`

	DataFailures []DataFailure `json:"dataFailures,omitempty"` // failed checks of data: they come before any verdict

	Summaries      []Summary       `json:"summaries"`             // each metric of each arm
	Peaks          []Peak          `json:"peaks,omitempty"`       // of studies that search for one, by arm
	ScaleOut       *ScaleOut       `json:"scaleOut,omitempty"`    // of studies that vary a number of units
	Headlines      []Comparison    `json:"headlines"`             // simultaneous; only these may be coloured
	Exploratory    []Comparison    `json:"exploratory,omitempty"` // Benjamini-Hochberg at 10 %; grey
	Families       []Family        `json:"families,omitempty"`    // spread that the exploratory comparisons of an arm share
	Certificate    []measure.Check `json:"certificate"`
	Explanations   []Explanation   `json:"explanations,omitempty"`
	NotJudged      []string        `json:"notJudged,omitempty"` // rule: what was missing
	Recommendation *Recommendation `json:"recommendation,omitempty"`
	Tuning         *Tuning         `json:"tuning,omitempty"`
	Audit          []Claim         `json:"audit,omitempty"` // claims of the published figures and of our own sentences
	Limits         []LimitResult   `json:"limits,omitempty"`
}

// Peak is the highest rate at which an arm kept the limits of the search, from
// the probes of all its trials together.
type Peak struct {
	Arm int `json:"arm"`
	measure.Peak
	Probes   int      `json:"probes"` // that were used
	Sentence string   `json:"sentence"`
	Numbers  []Number `json:"numbers"` // the numbers in Sentence
}

// Number is a number in a sentence and where it is from. Every digit of our own
// sentences belongs to a number or to a name; the audit looks each of them up.
type Number struct {
	ID   string `json:"id"`   // "iops@1/change": see Findings.Text
	Text string `json:"text"` // as it stands in the sentence
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

// Comparison is one metric of one arm against the baseline. The verdict of a
// headline follows from Low, High and the margin alone.
type Comparison struct {
	Metric     measure.Metric `json:"metric"`
	Arm        int            `json:"arm"`
	Blocks     int            `json:"blocks"`
	Ratio      float64        `json:"ratio"` // arm / baseline
	Low        float64        `json:"low"`
	High       float64        `json:"high"`
	Level      float64        `json:"level"`                // confidence level of the interval: of a headline together with all looks and headlines, else by itself
	P          float64        `json:"p"`                    // two-sided, of no difference, from the test that the interval belongs to
	SignedRank float64        `json:"signedRank,omitempty"` // p of the exact signed-rank test of the differences within blocks; 0 where that was not made
	Adjusted   float64        `json:"adjusted"`             // p over all looks and headlines; of exploratory comparisons, Benjamini-Hochberg
	Verdict    Verdict        `json:"verdict"`

	Method   Method  `json:"method,omitempty"`   // that gave the interval
	SE       float64 `json:"se,omitempty"`       // standard error of ln Ratio
	DF       float64 `json:"df,omitempty"`       // its degrees of freedom
	Critical float64 `json:"critical,omitempty"` // half-width of the interval of ln Ratio, in standard errors
	Outlying []int   `json:"outlying,omitempty"` // numbers of the blocks in which a trial lies so far off that it has no weight
	Far      *Far    `json:"far,omitempty"`      // how many such trials each arm has, where one has any; from 9 blocks on
	Order    *Order  `json:"order,omitempty"`    // effect of running second in a block, which the estimate is free of

	LeansOnNormality bool     `json:"leansOnNormality,omitempty"` // decided, and the signed-rank test does not reach 5 %
	NotRandomised    bool     `json:"notRandomised,omitempty"`    // imported or unpaired: weaker, never "verified"
	Least            int      `json:"least,omitempty"`            // fewest blocks that carry a verdict, where there are fewer
	More             int      `json:"more,omitempty"`             // about this many more blocks would decide; 0 where that is no advice
	Reach            *Reach   `json:"reach,omitempty"`            // what can be decided instead, where the margin is out of reach
	NoInterval       bool     `json:"noInterval,omitempty"`       // too little data for one: Low and High are equal to Ratio
	OwnLoad          bool     `json:"ownLoad,omitempty"`          // latency of a closed loop whose rate differs: each arm at its own load
	Pilot            int      `json:"pilot,omitempty"`            // blocks whose spread alone makes the interval, where a precision was asked for
	Counts           *Counts  `json:"counts,omitempty"`           // of failures, which are compared as counts
	Sentence         string   `json:"sentence"`
	Numbers          []Number `json:"numbers,omitempty"` // the numbers in Sentence
}

// Far counts the outlying trials of the two arms of a comparison.
type Far struct {
	Baseline int `json:"baseline"`
	Arm      int `json:"arm"`
}

// Method is how an interval was made.
type Method string

// The methods.
const (
	ByBlocks  Method = "blocks"    // robust regression of the differences within blocks
	ByTrials  Method = "trials"    // robust regression of the single trials
	ByPilot   Method = "stein"     // mean difference, with the spread of the pilot
	ByCounts  Method = "counts"    // ratio of two rates of failures
	ByFamily  Method = "moderated" // mean difference, with a spread that all counters share
	ByWelch   Method = "welch"     // two runs that no order ties together
	ByAverage Method = "means"     // differences of values that can be 0 or less: no interval of a ratio
)

// Differs says whether the two arms were shown to differ.
func (v Verdict) Differs() bool {
	return v == Better || v == Worse || v == Different || v == Changed
}

// Family is the spread that the metrics and counters of an arm share: the variance
// of each is the mean of its own, weighted by its degrees of freedom, and of SD
// squared, weighted by DF. 0 degrees of freedom stand for infinitely many.
type Family struct {
	Arm      int     `json:"arm"`
	Counters int     `json:"counters"`
	DF       float64 `json:"df"`
	SD       float64 `json:"sd"` // of one difference of logarithms within a block
}

// Order is what a trial gains or loses by running second in its block, as a ratio,
// with its interval.
type Order struct {
	Ratio float64 `json:"ratio"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Reach is the smallest margin within which the arms would be equivalent after so
// many blocks, if estimate and spread stayed as they are.
type Reach struct {
	Margin float64 `json:"margin"` // as a share
	Blocks int     `json:"blocks"`
}

// Counts are failed operations of both arms. With none in the baseline there is
// no ratio: it stands as 1.
type Counts struct {
	Failed             int64 `json:"failed"`
	Operations         int64 `json:"operations"` // failed ones included
	BaselineFailed     int64 `json:"baselineFailed"`
	BaselineOperations int64 `json:"baselineOperations"`
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
	Arm      int        `json:"arm"` // that it is about
	Grade    Grade      `json:"grade"`
	Sentence string     `json:"sentence"`
	Numbers  []Number   `json:"numbers,omitempty"` // the numbers in Sentence
	Evidence []Evidence `json:"evidence"`
	Change   *Change    `json:"change,omitempty"` // what the rule would change; nil when there is nothing to change
	Gain     *Gain      `json:"gain,omitempty"`   // what the change may bring; nil when it cannot be said
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

// Gain is a prediction of the effect of a change, as shares: 0.27 is +27 %.
type Gain struct {
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Basis string  `json:"basis"` // how it was predicted
}

// Recommendation is the one change that the analysis names.
type Recommendation struct {
	Rule      string   `json:"rule"`
	Arm       int      `json:"arm"` // whose measurement it rests on
	Change    Change   `json:"change"`
	Predicted *Gain    `json:"predicted,omitempty"` // before it was tried; never the claim
	Sentence  string   `json:"sentence"`
	Numbers   []Number `json:"numbers,omitempty"`
}

// Tuning is the story of the closed loop, in order.
type Tuning struct {
	Goal     string            `json:"goal"`
	Rounds   []Round           `json:"rounds"`
	End      string            `json:"end"`      // why it ended, as a sentence without its full stop
	Sentence string            `json:"sentence"` // the story in one sentence
	Numbers  []Number          `json:"numbers,omitempty"`
	Final    map[string]string `json:"final"` // settings kept, by factor
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
	Guards         []Comparison    `json:"guards,omitempty"` // what must not suffer, and other headlines of the study
	Limits         []LimitResult   `json:"limits,omitempty"` // the floor of the goal, after the change
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

// The outcomes of a round. What is not shown to help is rolled back.
const (
	Kept        Outcome = "kept"
	RolledBack  Outcome = "rolled back"
	NoRuleFired Outcome = "no rule fired"
)

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
