package finding

import (
	"testing"

	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
)

// A peak names its limit, and the reason why there is none holds rates: neither is a
// number without a source.
func TestSentencesOfPeaksHold(t *testing.T) {
	for name, p := range map[string]measure.Peak{
		"found": {Word: "identified", Limiting: "p99", Estimate: 19251, Low: 19060, High: 19497, Sustained: 18681},
		"none":  {Word: "never passed", Limiting: "p99", Why: "even 625/s, the lowest rate that was tried, did not keep the limits"},
	} {
		f := &Findings{Level: .95, Arms: []plan.Arm{{Label: "baseline"}}, Peaks: []Peak{{Peak: p}}}
		f.sayPeaks()
		for _, c := range auditSentences(f) {
			if !c.Holds {
				t.Errorf("%s: %s: %s", name, c.Sentence, c.Fault)
			}
		}
	}
}
