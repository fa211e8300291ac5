package finding

import (
	"testing"

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
