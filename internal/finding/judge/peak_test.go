package judge

import (
	"testing"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/wording"
	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
)

// Without a peak the answer tells what single probes did.
func TestNoPeakTellsWhatProbesDid(t *testing.T) {
	for _, c := range []struct {
		pass, fail float64
		want       string
	}{
		{25600, 14907, "No rate is sustained with the baseline: noise hides it. Single probes passed up to 25,600/s and failed from 14,910/s."},
		{0, 100, "No rate is sustained with the baseline: noise hides it. Single probes failed from 100/s."},
		{0, 0, "No rate is sustained with the baseline: noise hides it."},
	} {
		f := &finding.Findings{Arms: []plan.Arm{{Label: "baseline"}}, Peaks: []finding.Peak{{Peak: measure.Peak{Word: "not identified", Why: "noise hides it", MaxPass: c.pass, MinFail: c.fail}}}}
		wording.Peaks(f)
		if got := f.Peaks[0].Sentence.Text; got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// An estimate by few probes, as those of one ladder, has no interval.
func TestAPeakWithoutAnInterval(t *testing.T) {
	f := &finding.Findings{Level: .95, Arms: []plan.Arm{{Label: "baseline"}}, Peaks: []finding.Peak{{Peak: measure.Peak{Word: "identified", Limiting: "p95", Estimate: 217}}}}
	wording.Peaks(f)
	if got, want := f.Peaks[0].Sentence.Text, "The limit on p95 is met at about 217/s with the baseline, by few probes without an interval; no confirmation run was completed."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
