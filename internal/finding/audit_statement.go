package finding

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Statement is something that a publication says, in a form that can be computed.
type Statement interface {
	// Audit computes it anew. The sentence is left to the caller.
	Audit() Claim
}

// Faults that statements have.
const (
	faultValue     = "does not follow from its own numbers"
	faultSign      = "sign missing"
	faultWord      = "text must be computed from data"
	faultPoints    = "percent versus points"
	faultLittle    = "fails Little's law: not a mean of this closed loop"
	faultLoads     = "latency compared at different loads"
	faultName      = "metric misnamed"
	faultMargin    = "unsupported: no margin, not enough runs"
	faultMerge     = "medians of means cannot be merged: use the merged histogram"
	faultCriterion = "criterion depends on test length: print the bound"
)

// ChangeStatement says that something changed by a percentage.
type ChangeStatement struct {
	From, To float64
	Percent  string  // as printed: "+19.77", "26.34", "-25"
	Word     string  // "over", "nearly", "about", or empty for the number itself
	Of       float64 // what points would be counted of, where another figure came before; 0: nothing
}

// nearEnough is how far "about" and "nearly" may be off, as a share of the number.
const nearEnough = 0.10

// Audit computes the change. The printed number must be the computed one, rounded
// to as many digits.
func (s ChangeStatement) Audit() Claim {
	computed := 100 * (s.To/s.From - 1)
	printed, half, signed, err := readPercent(s.Percent)
	claim := Claim{Computed: fmt.Sprintf("%+.*f %%", max(1, decimals(s.Percent)), computed)}
	if s.Of > 0 {
		claim.Computed += fmt.Sprintf(" relative, %+.1f points of %s", 100*(s.To-s.From)/s.Of, Quantity(s.Of, "1"))
	}
	size := math.Abs(computed)
	switch {
	case err != nil || s.From == 0:
		claim.Fault = "not a change that can be computed"
	case s.Word != "":
		if !s.wordHolds(size, math.Abs(printed)) {
			claim.Fault = faultWord
		}
	case math.Abs(computed-printed) <= half:
	case !signed && math.Abs(size-printed) <= half:
		claim.Fault = faultSign
	case s.Of > 0:
		claim.Fault = faultPoints
	default:
		claim.Fault = faultValue
	}
	claim.Holds = claim.Fault == ""
	return claim
}

func (s ChangeStatement) wordHolds(size, said float64) bool {
	switch s.Word {
	case "over", "more than":
		return size > said
	case "nearly", "almost":
		return size < said && size >= said*(1-nearEnough)
	case "up to":
		return size <= said
	}
	return math.Abs(size-said) <= said*nearEnough
}

// readPercent reads a printed percentage: its value, half a unit of its last digit,
// and whether a sign stands in front.
func readPercent(text string) (value, half float64, signed bool, err error) {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\u2212", "-"))
	signed = strings.HasPrefix(text, "+") || strings.HasPrefix(text, "-")
	value, err = strconv.ParseFloat(text, 64)
	half = 0.5*math.Pow10(-decimals(text)) + 1e-9
	return value, half, signed, err
}

func decimals(text string) int {
	_, fraction, _ := strings.Cut(strings.TrimSpace(text), ".")
	return min(6, len(fraction))
}

// LoopStatement says how long operations of a closed loop take, on the mean.
type LoopStatement struct {
	InFlight float64
	Rate     float64 // per second
	Mean     float64 // seconds
}

// littleLimit is how far X*R may be from N. A generator that times operations
// itself leaves out what it does between two of them.
const littleLimit = 0.02

// Audit holds the statement against Little's law, N = X*R.
func (s LoopStatement) Audit() Claim {
	seen := s.Rate * s.Mean
	claim := Claim{Computed: fmt.Sprintf("X*R = %s for N = %s", Quantity(seen, "1"), Quantity(s.InFlight, "1"))}
	if !(math.Abs(seen/s.InFlight-1) <= littleLimit) {
		mean := s.InFlight / s.Rate
		claim.Computed = fmt.Sprintf("N/X = %s, off by %sx", Quantity(mean, "s"), strconv.FormatFloat(roundTo(s.Mean/mean, 3), 'f', -1, 64))
		claim.Fault = faultLittle
	}
	claim.Holds = claim.Fault == ""
	return claim
}

// LatencyStatement compares two latencies.
type LatencyStatement struct {
	From, To         float64 // seconds
	LoadFrom, LoadTo float64 // what each was measured at: operations in flight, or per second
}

// Audit checks that both latencies were measured at the same load.
func (s LatencyStatement) Audit() Claim {
	claim := Claim{Computed: fmt.Sprintf("%s at a load of %s against %s at %s", Quantity(s.From, "s"), Quantity(s.LoadFrom, "1"), Quantity(s.To, "s"), Quantity(s.LoadTo, "1"))}
	if math.Abs(s.LoadTo/s.LoadFrom-1) > littleLimit {
		claim.Fault = faultLoads
	}
	claim.Holds = claim.Fault == ""
	return claim
}

// CPUStatement says by how much CPU utilisation changed, given cycles per I/O and
// I/Os per second.
type CPUStatement struct {
	CostFrom, CostTo float64 // cycles for each operation
	RateFrom, RateTo float64 // operations per second
	Percent          string
}

// Audit computes utilisation, which is cost times rate, and says what the number is
// if it is not that.
func (s CPUStatement) Audit() Claim {
	cost := ChangeStatement{From: s.CostFrom, To: s.CostTo, Percent: s.Percent}.Audit()
	use := ChangeStatement{From: s.CostFrom * s.RateFrom, To: s.CostTo * s.RateTo, Percent: s.Percent}.Audit()
	claim := Claim{Computed: cost.Computed + " is the cost of an operation; utilisation is cost times rate, " + use.Computed, Fault: use.Fault}
	if !use.Holds && cost.Holds {
		claim.Fault = faultName
	}
	claim.Holds = claim.Fault == ""
	return claim
}

// MarginStatement says that two results are alike within the margin of error.
type MarginStatement struct {
	Runs   int     // of each side; 0 is unknown
	Margin float64 // declared, as a share; 0 is none
}

// Audit checks that there was a margin, and runs to hold against it.
func (s MarginStatement) Audit() Claim {
	claim := Claim{Computed: "no interval, no margin: not enough runs", Fault: faultMargin}
	if s.Runs >= 6 && s.Margin > 0 {
		claim = Claim{Computed: fmt.Sprintf("%d runs and a margin of %s", s.Runs, Share(s.Margin)), Holds: true}
	}
	return claim
}

// MergeStatement gives one latency for several workers.
type MergeStatement struct{ How string } // "median of means", "merged histogram"

// Audit refuses what cannot be merged.
func (s MergeStatement) Audit() Claim {
	if strings.Contains(s.How, "histogram") {
		return Claim{Computed: "histograms merge by adding", Holds: true}
	}
	return Claim{Computed: s.How + " is no quantile and no mean of the requests", Fault: faultMerge}
}

// CriterionStatement says that a run fails when any of its operations does.
type CriterionStatement struct{ Operations float64 }

// Audit prints the bound that such a pass amounts to.
func (s CriterionStatement) Audit() Claim {
	return Claim{
		Computed: fmt.Sprintf("0 failures in %s: rate < %.0e at 95 %%", Quantity(s.Operations, "1"), 3/s.Operations),
		Fault:    faultCriterion,
	}
}

// EstimandStatement gives a peak and an average of one sweep.
type EstimandStatement struct {
	Peak    ChangeStatement
	Average string // percent, as printed
}

// Audit computes the peak and keeps the two apart.
func (s EstimandStatement) Audit() Claim {
	claim := s.Peak.Audit()
	claim.Computed += "; the average over the sweep, " + s.Average + " %, is another estimand: print both, at matched levels only"
	return claim
}
