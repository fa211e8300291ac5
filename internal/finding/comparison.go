package finding

import (
	"plimsoll/internal/measure"
	"plimsoll/internal/sentence"
)

// Verdict is the verdict on one metric of one arm against the baseline.
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

// Comparison is one metric of one arm against the baseline. The verdict of a
// headline follows from Low, High and the margin alone.
type Comparison struct {
	Metric     measure.Metric `json:"metric"`
	Arm        int            `json:"arm"`
	Blocks     int            `json:"blocks"`
	Ratio      float64        `json:"ratio"` // arm / baseline
	Low        float64        `json:"low"`
	High       float64        `json:"high"`
	Level      float64        `json:"level"`                // confidence level of the interval: of a headline together with all looks and headlines, else alone
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

	LeansOnNormality bool    `json:"leansOnNormality,omitempty"` // decided, and the signed-rank test does not reach 5 %
	NotRandomised    bool    `json:"notRandomised,omitempty"`    // imported or unpaired: weaker, never "verified"
	Least            int     `json:"least,omitempty"`            // fewest blocks that carry a verdict, where there are fewer
	More             int     `json:"more,omitempty"`             // about this many more blocks would decide; 0 where that is no advice
	Reach            *Reach  `json:"reach,omitempty"`            // possible decision, where the margin is out of reach
	NoInterval       bool    `json:"noInterval,omitempty"`       // too little data for one: Low and High are equal to Ratio
	NoRatio          bool    `json:"noRatio,omitempty"`          // the baseline is 0 or less: Ratio is 1, and means nothing
	OwnLoad          bool    `json:"ownLoad,omitempty"`          // latency of a closed loop whose rate differs: each arm at its own load
	Pilot            int     `json:"pilot,omitempty"`            // blocks whose spread determines the interval, with a precision goal
	Counts           *Counts `json:"counts,omitempty"`           // of failures, which are compared as counts
	sentence.Sentence
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

// Differs reports whether the two arms were shown to differ.
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

// Order is the effect of running second in a block, as a ratio, with its interval.
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
