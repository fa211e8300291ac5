package judge

import (
	"strings"
	"testing"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/compare"
	"plimsoll/internal/measure"
)

// A cluster that has lost an OSD writes fewer copies. It may be faster, and is never better; it may be worse. Nor is anything better than that.
func TestDegradedIsNeverBetter(t *testing.T) {
	for _, metric := range []string{"ceph.down", "ceph.degraded"} {
		lacking := func(parts ...float64) func(int, *measure.Record) {
			return func(arm int, r *measure.Record) { r.Counters[metric] = parts[arm] }
		}
		for _, c := range []struct {
			name     string
			change   float64
			lacking  []float64
			want     finding.Verdict
			degraded bool
		}{
			{"faster and whole", 1.4, []float64{0, 0}, finding.Better, false},
			{"faster and degraded", 1.4, []float64{0, 1}, finding.Changed, true},
			{"slower and degraded", .7, []float64{0, 1}, finding.Worse, true},
			{"undecided and degraded", 1, []float64{0, 1}, finding.NotEnoughRuns, true},
			{"faster than a baseline that is degraded", 1.4, []float64{1, 0}, finding.Changed, true},
			{"faster with a cluster that was always degraded", 1.4, []float64{1, 1}, finding.Changed, true},
		} {
			f := judged(world{seed: 5, blocks: 8, arms: []float64{1, c.change}, cv: .01, values: lacking(c.lacking...)}.build())
			sound(t, f)
			h := f.Headlines[0]
			if h.Verdict != c.want || h.Degraded != c.degraded {
				t.Errorf("%s, %s: %s, degraded %v: %s", metric, c.name, h.Verdict, h.Degraded, h.Text)
			}
			if said := strings.Contains(h.Text, "on a degraded cluster"); said != c.degraded {
				t.Errorf("%s, %s: %s", metric, c.name, h.Text)
			}
			if f.Recommendation != nil && c.degraded {
				t.Errorf("%s, %s: it recommends %+v", metric, c.name, f.Recommendation)
			}
		}
	}
}

// So it is where results folders are compared.
func TestDegradedRunsAreNeverBetter(t *testing.T) {
	iops := measure.Metric{Name: "iops", Unit: "1/s", Better: measure.HigherIsBetter}
	down := measure.Metric{Name: "ceph.down", Unit: "1"}
	run := func(label string, rate, lost float64) compare.Run {
		r := compare.Run{Label: label, Metrics: []measure.Metric{iops, down}, Values: map[string][]float64{}}
		for i := range 8 {
			r.Values["iops"] = append(r.Values["iops"], rate+float64(i))
			r.Values["ceph.down"] = append(r.Values["ceph.down"], lost)
		}
		return r
	}
	for lost, want := range map[float64]finding.Verdict{0: finding.Better, 1: finding.Changed} {
		f := compare.Runs(run("before", 1000, 0), run("after", 2000, lost), compare.Terms{Headline: []string{"iops"}, Margin: .05})
		if h := f.Headlines[0]; h.Verdict != want || h.Degraded != (lost > 0) {
			t.Errorf("%v OSDs lost: %s, degraded %v", lost, h.Verdict, h.Degraded)
		}
	}
}
