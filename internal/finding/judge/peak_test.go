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

// A peak's sentence says what the search says of it, except where it says that itself.
func TestAPeakTellsWhatTheSearchSays(t *testing.T) {
	const why = "one probe was left out"
	for _, c := range []struct {
		peak measure.Peak
		want string
	}{
		{measure.Peak{Word: "identified", Limiting: "p95", Estimate: 217, Why: why}, "The limit on p95 is met at about 217/s with the baseline, by few probes without an interval; no confirmation run was completed. The search: one probe was left out."},
		{measure.Peak{Word: "not identified", Sustained: 200, Why: why}, "At least 200/s is sustained with the baseline: it passed every confirmation run; the peak itself was not estimated (not identified). The search: one probe was left out."},
		{measure.Peak{Word: "not identified", Sustained: 200}, "At least 200/s is sustained with the baseline: it passed every confirmation run; the peak itself was not estimated (not identified)."},
		{measure.Peak{Word: "identified", Limiting: "p95", Estimate: 210, Sustained: 200, Low: 200, High: 220, Step: true, Why: why}, "200/s is sustained with the baseline: it passed every confirmation run; 220/s failed every time (p95), and the limit lies between 200/s and 220/s."},
	} {
		f := &finding.Findings{Level: .95, Arms: []plan.Arm{{Label: "baseline"}}, Peaks: []finding.Peak{{Peak: c.peak}}}
		wording.Peaks(f)
		if got := f.Peaks[0].Sentence.Text; got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
