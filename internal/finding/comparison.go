package finding

import (
	"plimsoll/internal/measure"
	"plimsoll/internal/sentence"
)

// Verdict is the verdict on one metric of one arm against the baseline.
type Verdict string

// The verdicts.
const (
	Better        Verdict = "better"
	Worse         Verdict = "worse"
	Equivalent    Verdict = "equivalent"
	Different     Verdict = "different, size open"
	Changed       Verdict = "different" // beyond the margin, without a better direction or exploratory
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
	Level      float64        `json:"level"`                // confidence level of the interval: of a headline over all looks and headlines, else of this interval alone
	P          float64        `json:"p"`                    // two-sided, of no difference, from the test of the interval
	SignedRank float64        `json:"signedRank,omitempty"` // p of the exact signed-rank test of the differences within blocks; 0 if not computed
	Adjusted   float64        `json:"adjusted"`             // p over all looks and headlines; of exploratory comparisons, Benjamini-Hochberg
	Verdict    Verdict        `json:"verdict"`

	Method   Method    `json:"method,omitempty"`   // of the interval
	SE       float64   `json:"se,omitempty"`       // standard error of ln Ratio
	DF       float64   `json:"df,omitempty"`       // its degrees of freedom
	Critical float64   `json:"critical,omitempty"` // half-width of the interval of ln Ratio, in standard errors
	Outlying []int     `json:"outlying,omitempty"` // numbers of the blocks with a trial that has no weight
	Far      *Outliers `json:"far,omitempty"`      // number of such trials by arm, if there are any; from 9 blocks
	Order    *Order    `json:"order,omitempty"`    // effect of running second in a block; the estimate is corrected for it

	Covariate *Covariate `json:"covariate,omitempty"` // share of CPU time that the hypervisor gave to others, if it varies; from 9 blocks

	LeansOnNormality bool    `json:"leansOnNormality,omitempty"` // decided, but the signed-rank test is not significant at 5 %
	NotRandomised    bool    `json:"notRandomised,omitempty"`    // imported or unpaired: weaker, never "verified"
	Least            int     `json:"least,omitempty"`            // fewest blocks for a verdict, if there are fewer
	More             int     `json:"more,omitempty"`             // estimated number of further blocks for a decision; 0 without advice
	Reach            *Reach  `json:"reach,omitempty"`            // possible decision, if the margin is out of reach
	NoInterval       bool    `json:"noInterval,omitempty"`       // too few data: Low and High are equal to Ratio
	NoRatio          bool    `json:"noRatio,omitempty"`          // the baseline is 0 or less: Ratio is 1 and has no meaning
	OwnLoad          bool    `json:"ownLoad,omitempty"`          // latency of a closed loop whose rate differs: each arm has its own load
	Degraded         bool    `json:"degraded,omitempty"`         // the cluster lacked redundancy with the arm or the baseline, so that nothing is better: Metric has no direction then
	Pilot            int     `json:"pilot,omitempty"`            // pilot blocks, whose variance determines the interval, with a precision goal
	Counts           *Counts `json:"counts,omitempty"`           // of failed operations, compared as counts
	sentence.Sentence
}

// Covariate is the adjustment of an estimate for the share of CPU time that the hypervisor gave to others.
type Covariate struct {
	Slope      float64 `json:"slope,omitempty"`      // change of ln of the metric as the share goes from 0 to 1, for which the estimate is adjusted; 0 if it is not
	Unbalanced bool    `json:"unbalanced,omitempty"` // the arms differ in the share, or in the CPU time wanted: the estimate is not adjusted
}

// Outliers counts the outlying trials of the two arms of a comparison.
type Outliers struct {
	Baseline int `json:"baseline"`
	Arm      int `json:"arm"`
}

// Method is how an interval was computed.
type Method string

// The methods.
const (
	ByBlocks  Method = "blocks"    // robust regression of the differences within blocks
	ByTrials  Method = "trials"    // robust regression of the single trials
	ByPilot   Method = "stein"     // mean difference, with the variance of the pilot
	ByCounts  Method = "counts"    // ratio of two rates of failures
	ByFamily  Method = "moderated" // mean difference, with a variance shrunk towards that of all counters
	ByWelch   Method = "welch"     // two unpaired runs
	ByAverage Method = "means"     // differences of values that can be 0 or less: no interval of the ratio
)

// Differs reports whether the arms differ significantly.
func (v Verdict) Differs() bool {
	return v == Better || v == Worse || v == Different || v == Changed
}

// Family is the prior of the variances of an arm's metrics and counters: each variance is the
// mean of its own, weighted by its degrees of freedom, and of SD squared, weighted by DF. DF =
// 0 stands for infinitely many.
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

// Reach is the smallest margin within which the arms would be equivalent after so many blocks,
// if estimate and variance stayed the same.
type Reach struct {
	Margin float64 `json:"margin"` // as a share
	Blocks int     `json:"blocks"`
}

// Counts are failed operations of both arms. If the baseline has none, the ratio is set to 1.
type Counts struct {
	Failed             int64 `json:"failed"`
	Operations         int64 `json:"operations"` // failed ones included
	BaselineFailed     int64 `json:"baselineFailed"`
	BaselineOperations int64 `json:"baselineOperations"`
}
