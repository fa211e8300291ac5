package judge

import (
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
