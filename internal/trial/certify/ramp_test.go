package certify

import (
	"testing"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
)

// A ramp is not judged for a steady state.
func TestRamp(t *testing.T) {
	t.Parallel()
	record := &measure.Record{Counts: map[string]int64{"operations": 100_000}, Values: map[string]float64{"ops": 3, "mean": .1}, Window: measure.Window{End: 10, Steady: measure.Drifting, Drift: .5}}
	for ramps, want := range map[bool][2]measure.State{true: {measure.Pass, measure.Unknown}, false: {measure.Fail, measure.Fail}} {
		e := &Evidence{Record: record, Operation: "ops", Demand: load.Demand{Concurrency: 8, Ramps: ramps}}
		checks, _ := Judge(e, "drift", "little's law")
		if len(checks) != 2 || checks[0].State != want[0] || checks[1].State != want[1] {
			t.Errorf("ramps %t: %+v", ramps, checks)
		}
	}
}
