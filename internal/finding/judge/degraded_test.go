package judge

import (
	"strings"
	"testing"

	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
)

// A cluster that has lost an OSD writes fewer copies. It may be faster, and is never better; it may be worse.
func TestDegradedIsNeverBetter(t *testing.T) {
	down := func(lost ...float64) func(int, *measure.Record) {
		return func(arm int, r *measure.Record) { r.Counters["ceph.down"] = lost[arm] }
	}
	for _, c := range []struct {
		name     string
		change   float64
		lost     []float64
		want     finding.Verdict
		degraded bool
	}{
		{"faster and whole", 1.4, []float64{0, 0}, finding.Better, false},
		{"faster and degraded", 1.4, []float64{0, 1}, finding.Changed, true},
		{"slower and degraded", .7, []float64{0, 1}, finding.Worse, false},
		{"faster than a baseline that is degraded", 1.4, []float64{1, 0}, finding.Better, false},
	} {
		f := judged(world{seed: 5, blocks: 8, arms: []float64{1, c.change}, cv: .01, values: down(c.lost...)}.build())
		sound(t, f)
		h := f.Headlines[0]
		if h.Verdict != c.want || h.Degraded != c.degraded {
			t.Errorf("%s: %s, degraded %v: %s", c.name, h.Verdict, h.Degraded, h.Text)
		}
		if said := strings.Contains(h.Text, "with servers of the cluster lost"); said != c.degraded {
			t.Errorf("%s: %s", c.name, h.Text)
		}
	}
}
