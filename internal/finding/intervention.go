package finding

import (
	"strconv"

	"plimsoll/internal/measure"
	"plimsoll/internal/sentence"
)

// Intervention is the test of whether a counter caused an effect: a study of 2 x 2 arms on
// fresh blocks, in which a second factor holds the counter.
//
// Source: Pearl (2009), Causality, section 4.5, controlled direct effects.
type Intervention struct {
	Counter string         `json:"counter"`
	Arm     int            `json:"arm"`    // of the study, whose effect is tested
	Metric  measure.Metric `json:"metric"` // of the effect
	Factor  string         `json:"factor"` // that holds the counter
	Free    string         `json:"free"`   // its level that lets the counter change
	Pinned  string         `json:"pinned"` // its level that holds it
	Folder  string         `json:"folder"` // of the run, below the results folder
	Seed    uint64         `json:"seed"`   // of the fresh blocks

	Blocks      int     `json:"blocks"` // with all four arms
	Level       float64 `json:"level"`  // confidence level of the intervals
	Margin      float64 `json:"margin"` // within which the effect under the pinned counter counts as none, as a share
	FreeEffect  Tested  `json:"freeEffect"`
	PinEffect   Tested  `json:"pinnedEffect"`
	Interaction Tested  `json:"interaction"` // free by pinned effect
	// CounterFree and CounterPinned are the ratios of the counter between the arms at both
	// levels; 0 if unknown.
	CounterFree   float64 `json:"counterFree,omitempty"`
	CounterPinned float64 `json:"counterPinned,omitempty"`
	Result        Result  `json:"result"`
	sentence.Sentence
}

// Tested is an effect as a ratio, with its interval and the two-sided p value of no difference.
type Tested struct {
	Ratio float64 `json:"ratio"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	P     float64 `json:"p"`
}

// Result is the result of an intervention.
type Result string

// The results of an intervention.
const (
	Caused     Result = "caused it"                    // the effect is gone while the counter is held
	SideEffect Result = "a side effect: not the cause" // the effect remains while the counter is held
	CausedPart Result = "caused a part of it"          // the effect is smaller while the counter is held, and remains
	NotDecided Result = "not decided"
	NotHeld    Result = "not held" // the counter changed in spite of the second factor
)

// Refutes reports whether the counter is not the cause, so that another one may be.
func (r Result) Refutes() bool { return r == SideEffect || r == NotHeld }

func (f *Findings) intervention(number, field string) (n sentence.Number, ok bool) {
	at, err := strconv.Atoi(number)
	if err != nil || at < 1 || at > len(f.Interventions) {
		return n, false
	}
	return f.Interventions[at-1].Number(field)
}

// Number is a number of the intervention by its field: effect free, effect held or interaction,
// each also with low and high; counter free, counter held; level, blocks and margin.
func (v *Intervention) Number(field string) (n sentence.Number, ok bool) {
	all := fields{"blocks": whole(v.Blocks), "level": share(v.Level), "margin": share(v.Margin)}
	for name, e := range map[string]Tested{"effect free": v.FreeEffect, "effect held": v.PinEffect, "interaction": v.Interaction} {
		all[name] = change(e.Ratio, e.Low, e.High)
		all[name+" low"], all[name+" high"] = change(e.Low, e.Low, e.High), change(e.High, e.Low, e.High)
	}
	for name, ratio := range map[string]float64{"counter free": v.CounterFree, "counter held": v.CounterPinned} {
		if ratio > 0 {
			all[name] = change(ratio, ratio, ratio)
		}
	}
	return all.number(field)
}
