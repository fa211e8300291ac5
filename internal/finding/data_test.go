package finding

import (
	"strings"
	"testing"

	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
)

func TestDataVerdict(t *testing.T) {
	if got := (&Findings{}).DataVerdict(); got != "" {
		t.Errorf("nothing lost: %q", got)
	}
	f := &Findings{Trials: 5, Arms: []plan.Arm{{Label: "fsync=on"}, {Label: "fsync=off"}}, DataFailures: []DataFailure{
		{Trial: 4, Arm: 1, Check: "consistency", Detail: "condition 4 is broken 7 times"}, {Trial: 4, Arm: 1, Check: "payments", Detail: "fewer"},
	}}
	if got, want := f.DataVerdict(), "The system under test lost or corrupted data in 1 of 5 trials. Trial 4 (fsync=off), check consistency: condition 4 is broken 7 times"; got != want {
		t.Errorf("%s\nnot\n%s", got, want)
	}
}

// A check of data fails in the certificate of the study however many trials passed it, void
// trials included.
func TestDataFailuresOfRecords(t *testing.T) {
	v := &view{}
	o := &outcome{name: "consistency", kind: measure.KindData}
	for trial, state := range []measure.State{measure.Pass, measure.Pass, measure.Fail} {
		r := measure.Record{Trial: trial + 1, Checks: []measure.Check{measure.DataCheck("consistency", state == measure.Pass, "condition 4"), {Name: "drift", State: measure.Fail}}}
		if state == measure.Fail {
			r.Void = "no steady state"
		}
		v.records = append(v.records, r)
		o.count(&r, r.Checks[0])
	}
	if all := v.dataFailures(); len(all) != 1 || all[0] != (DataFailure{Trial: 3, Check: "consistency", Detail: "condition 4"}) {
		t.Errorf("%+v", all)
	}
	if line := o.line(); line.State != measure.Fail || line.Kind != measure.KindData || !strings.Contains(line.Detail, "trial 3: condition 4") {
		t.Errorf("%+v", line)
	}
}
