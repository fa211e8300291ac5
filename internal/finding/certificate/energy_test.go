package certificate

import (
	"testing"

	"plimsoll/internal/measure"
)

// The certificate of a study names the source of energy, also where every trial has it; of other checks that pass it says no more.
func TestSourceOfEnergyIsNamed(t *testing.T) {
	for name, want := range map[string]string{
		measure.EnergyCheck: "2 of 2 valid trials passed; trial 1: 9 readings of a meter",
		"drift":             "2 of 2 valid trials passed",
	} {
		o := &outcome{name: name}
		for trial := range 2 {
			o.count(&measure.Record{Trial: trial + 1}, measure.Check{Name: name, State: measure.Pass, Detail: "9 readings of a meter"})
		}
		if got := o.line(); got.Detail != want || got.State != measure.Pass {
			t.Errorf("%s: %+v, want %q", name, got, want)
		}
	}
}
