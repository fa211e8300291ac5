package measure

// Kind is the subject of a check.
type Kind string

// KindData is of a check of the data that the system under test holds or returns, against
// the writes that it acknowledged. A failed one is a failure of that system, however noisy
// the trial was: it is the cause that a trial names first, and the trial is not repeated.
const KindData Kind = "data"

// DataFailures are the failed checks of data among others.
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
