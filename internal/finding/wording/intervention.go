package wording

import (
	"fmt"

	"plimsoll/internal/finding"
	"plimsoll/internal/sentence"
)

// Interventions writes the sentences of interventions.
func Interventions(f *finding.Findings) {
	l := finding.NewLedger(f)
	for i := range f.Interventions {
		intervention(f, l, i)
	}
}

func intervention(f *finding.Findings, l *finding.Ledger, i int) {
	v := &f.Interventions[i]
	s := sentence.Scene{
		Names:  map[string]string{"counter": v.Counter, "metric": v.Metric.Name, "arm": f.Label(v.Arm), "factor": v.Factor, "free": v.Free, "held": v.Pinned},
		Prefix: fmt.Sprintf("intervention:%d", i+1), Number: l.Number,
	}
	v.Sentence = s.Compose(interventionLead[v.Result] + " " + bothEffects)
}

// bothEffects are the estimates behind each result.
const bothEffects = "{arm} changes {metric} by {effect free} ({effect free low} to {effect free high}) with {factor}={free}, " +
	"and by {effect held} ({effect held low} to {effect held high}) with {factor}={held}; " +
	"interaction {interaction} ({interaction low} to {interaction high}), {blocks} fresh blocks, {level} confidence."

// interventionLead begins the sentence of each result.
var interventionLead = map[finding.Result]string{
	finding.Caused:     "{counter} caused the change of {metric}: while {factor}={held} holds it, the effect is within the margin of {margin}.",
	finding.CausedPart: "{counter} caused a part of the change of {metric}: while {factor}={held} holds it, the effect is smaller and remains.",
	finding.SideEffect: "{counter} is a side effect, not the cause: the effect on {metric} remains while {factor}={held} holds it.",
	finding.NotHeld:    "Whether {counter} caused the change of {metric} is open: {factor}={held} did not hold it.",
	finding.NotDecided: "Whether {counter} caused the change of {metric} is not decided.",
}
