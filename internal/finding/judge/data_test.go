package judge

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/table"
	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
	"plimsoll/internal/study"
)

// A check of data fails in the certificate of the study however many trials passed it, void
// trials included.
func TestDataFailuresOfRecords(t *testing.T) {
	s := &study.Study{}
	c := table.Case{Plan: &plan.Plan{Study: s, Level: .95, Arms: []plan.Arm{{Label: "baseline"}}}, Study: s}
	for trial, state := range []measure.State{measure.Pass, measure.Pass, measure.Fail} {
		r := measure.Record{Trial: trial + 1, Checks: []measure.Check{measure.DataCheck("consistency", state == measure.Pass, "condition 4"), {Name: "drift", State: measure.Fail}}}
		if state == measure.Fail {
			r.Void = "no steady state"
		}
		c.Records = append(c.Records, r)
	}
	f := judged(c)
	if all := f.DataFailures; len(all) != 1 || all[0] != (finding.DataFailure{Trial: 3, Check: "consistency", Detail: "condition 4"}) {
		t.Errorf("%+v", all)
	}
	if line := lineOf(t, f, "consistency"); line.State != measure.Fail || line.Kind != measure.KindData || !strings.Contains(line.Detail, "trial 3: condition 4") {
		t.Errorf("%+v", line)
	}
}

// Faults are counted by arm, in void trials too, the most frequent first.
func TestFaultsOfRecords(t *testing.T) {
	s := &study.Study{}
	c := table.Case{Plan: &plan.Plan{Study: s, Level: .95, Arms: []plan.Arm{{Label: "baseline"}, {Label: "other"}}}, Study: s}
	for trial, faults := range []map[string]int64{{"migrate: Timedout": 2}, nil, {"migrate: Timedout": 1, "clone: lost": 9}, nil} {
		r := measure.Record{Trial: trial + 1, Faults: faults}
		if trial == 2 {
			r.Void = "errors"
		}
		if trial == 3 {
			r.Arm, r.Faults = 1, map[string]int64{"power-on: TaskInProgress": 1}
		}
		c.Records = append(c.Records, r)
	}
	want := []finding.Fault{
		{Name: "clone: lost", Count: 9, Trials: 1}, {Name: "migrate: Timedout", Count: 3, Trials: 2}, {Arm: 1, Name: "power-on: TaskInProgress", Count: 1, Trials: 1},
	}
	if all := judged(c).Faults; !slices.Equal(all, want) {
		t.Errorf("%+v, want %+v", all, want)
	}
}
