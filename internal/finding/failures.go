package finding

import "fmt"

// DataFailure is a failed check of data: the system under test lost or changed data that it
// had acknowledged. It counts even if the trial is void.
type DataFailure struct {
	Trial  int    `json:"trial"`
	Arm    int    `json:"arm"`
	Check  string `json:"check"`
	Detail string `json:"detail"`
}

// DataVerdict is the failed checks of data in one sentence, which precedes any other verdict;
// empty if none failed.
func (f *Findings) DataVerdict() string {
	if len(f.DataFailures) == 0 {
		return ""
	}
	first := f.DataFailures[0]
	trials := map[int]bool{}
	for _, d := range f.DataFailures {
		trials[d.Trial] = true
	}
	arm := ""
	if len(f.Arms) > 1 && first.Arm < len(f.Arms) {
		arm = " (" + f.Arms[first.Arm].Label + ")"
	}
	return fmt.Sprintf("The system under test lost or corrupted data in %d of %d trials. Trial %d%s, check %s: %s", len(trials), f.Trials, first.Trial, arm, first.Check, first.Detail)
}
