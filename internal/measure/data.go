package measure

// Kind is the subject of a check.
type Kind string

// KindData marks a check of the data that the system under test stores or returns, against the
// writes that it acknowledged. A failed one is a failure of that system, however noisy the
// trial: it is the first cause listed, and the trial is not repeated.
const KindData Kind = "data"

// DataFailures returns the failed checks of data.
func DataFailures(checks []Check) (failed []Check) {
	for _, c := range checks {
		if c.Kind == KindData && c.State == Fail {
			failed = append(failed, c)
		}
	}
	return failed
}

// DataCheck is a check of data, which passes where the data is good.
func DataCheck(name string, good bool, detail string) Check {
	c := Judged(name, good, detail)
	c.Kind = KindData
	return c
}

// Judged is a check that passes or fails.
func Judged(name string, good bool, detail string) Check {
	c := Check{Name: name, State: Pass, Detail: detail}
	if !good {
		c.State = Fail
	}
	return c
}
