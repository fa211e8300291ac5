package judge

import (
	"testing"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/audit"
	"plimsoll/internal/finding/wording"
	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
)

// A peak names its limit, and the reason why there is none holds rates: neither is a
// number without a source.
func TestSentencesOfPeaksHold(t *testing.T) {
	for name, p := range map[string]measure.Peak{
		"found": {Word: "identified", Limiting: "p99", Estimate: 19251, Low: 19060, High: 19497, Sustained: 18681},
		"wide":  {Word: "identified", Limiting: "p99", Estimate: 19251},
		"kept":  {Word: "identified", Limiting: "p99", Estimate: 19251, Sustained: 18681},
		"none":  {Word: "never passed", Limiting: "p99", Why: "even 625/s, the lowest rate that was tried, did not keep the limits"},
	} {
		f := &finding.Findings{Level: .95, Arms: []plan.Arm{{Label: "baseline"}}, Peaks: []finding.Peak{{Peak: p}}}
		wording.Peaks(f)
		for _, c := range audit.Of(f, nil) {
			if !c.Holds {
				t.Errorf("%s: %s: %s", name, c.Sentence, c.Fault)
			}
		}
	}
}
