package lab

import (
	"testing"

	"plimsoll/internal/collect"
	"plimsoll/internal/factor"
	"plimsoll/internal/study"
	"plimsoll/internal/trial"
)

// The caution of a level is said once, after that of the machine, and only in studies with the level.
func TestCautionsOfLevels(t *testing.T) {
	known := &study.Catalog{Factors: []factor.Factor{
		{Name: "plain"},
		{Name: "wary", Caution: func(level string) string {
			if level == "risky" {
				return "it is risky"
			}
			return ""
		}},
	}}
	machine := collect.TestbedRecord{{Name: "machine.name", Value: "x"}, {Name: CautionFact, Value: "no KVM"}}
	for _, c := range []struct {
		bed     collect.TestbedRecord
		factors []study.Factor
		want    string
	}{
		{bed: machine, factors: []study.Factor{{Name: "plain", Levels: []string{"risky"}}, {Name: "wary", Levels: []string{"safe"}}}, want: "no KVM"},
		{bed: machine, factors: []study.Factor{{Name: "wary", Levels: []string{"safe", "risky"}}}, want: "no KVM; it is risky"},
		{bed: machine, factors: []study.Factor{{Name: "wary", Group: "a", Levels: []string{"risky"}}, {Name: "wary", Group: "b", Levels: []string{"risky"}}}, want: "no KVM; it is risky"},
		{factors: []study.Factor{{Name: "wary", Levels: []string{"risky"}}}, want: "it is risky"},
		{factors: []study.Factor{{Name: "unknown", Levels: []string{"risky"}}}},
	} {
		bed := withCautions(append(collect.TestbedRecord(nil), c.bed...), &trial.Bench{Study: &study.Study{Factors: c.factors}, Catalog: known})
		if got, _ := bed.Get(CautionFact); got != c.want {
			t.Errorf("%+v: %q, want %q", c.factors, got, c.want)
		}
	}
}
