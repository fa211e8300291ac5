package lab

import (
	"testing"

	"plimsoll/internal/collect"
	"plimsoll/internal/factor"
	"plimsoll/internal/parameter"
	"plimsoll/internal/study"
	"plimsoll/internal/trial"
)

// The caution of a level is said once, after that of the machine, and only in studies with the level.
func TestCautionsOfLevels(t *testing.T) {
	known := &study.Catalog{Factors: []factor.Factor{
		{Name: "plain"},
		{Name: "guest.wary", Caution: func(level string) string {
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
		groups  []study.Group
		own     parameter.Settings
		want    string
	}{
		{bed: machine, factors: []study.Factor{{Name: "plain", Levels: []string{"risky"}}, {Name: "guest.wary", Levels: []string{"safe"}}}, want: "no KVM"},
		{bed: machine, factors: []study.Factor{{Name: "guest.wary", Levels: []string{"safe", "risky"}}}, want: "no KVM; it is risky"},
		{bed: machine, factors: []study.Factor{{Name: "guest.wary", Group: "a", Levels: []string{"risky"}}, {Name: "guest.wary", Group: "b", Levels: []string{"risky"}}}, want: "no KVM; it is risky"},
		{factors: []study.Factor{{Name: "guest.wary", Levels: []string{"risky"}}}, want: "it is risky"},
		{factors: []study.Factor{{Name: "unknown", Levels: []string{"risky"}}}},
		{bed: machine, own: parameter.Settings{"wary": "risky", "other": "risky"}, want: "no KVM; it is risky"},
		{bed: machine, groups: []study.Group{{}, {Settings: parameter.Settings{"wary": "risky"}}}, want: "no KVM; it is risky"},
		{bed: machine, own: parameter.Settings{"wary": "safe"}, want: "no KVM"},
	} {
		s := &study.Study{Factors: c.factors, Groups: c.groups, Platform: study.Use{Kind: "guest", Settings: c.own}}
		bed := withCautions(append(collect.TestbedRecord(nil), c.bed...), &trial.Bench{Study: s, Catalog: known})
		if got, _ := bed.Get(CautionFact); got != c.want {
			t.Errorf("%+v: %q, want %q", c, got, c.want)
		}
	}
}
