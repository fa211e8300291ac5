package certify

import (
	"slices"
	"testing"

	"plimsoll/internal/measure"
)

// A share beyond its limit is one with which the check fails, and no other.
func TestSharesAreWhatTheChecksLimit(t *testing.T) {
	for name, check := range map[string]string{StealCounter: "steal", cpuPressure: "cpu pressure", throttled: "throttling"} {
		limits := Watched()
		i := slices.IndexFunc(limits, func(l Limit) bool { return l.Check == check })
		if i < 0 {
			t.Fatalf("%s has no limit", check)
		}
		for _, factor := range []float64{.5, .999, 1.001, 3} {
			e := sound()
			value := limits[i].Most * factor
			if check == "steal" {
				value *= e.Record.Counters[CountCounter]
			}
			e.Record.Counters[name] = value
			checks, void := Judge(e, check)
			beyond := Shares(e.Record.Counters)[check] > limits[i].Most
			if fails := checks[0].State == measure.Fail; fails != beyond || beyond != (factor > 1) || (void != "") != (fails && limits[i].Voids) {
				t.Errorf("%s at %g times its limit: fails %t, beyond %t, void because of %q", check, factor, fails, beyond, void)
			}
		}
	}
	if s := Shares(map[string]float64{StealCounter: 1}); len(s) != 0 {
		t.Errorf("steal of an unknown number of CPUs is %v", s)
	}
}
