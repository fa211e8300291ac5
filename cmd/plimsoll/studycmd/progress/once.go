package progress

import (
	"strings"

	"plimsoll/internal/trial"
)

// account is what was shown of a run, so that nothing is said twice: why a trial is void was
// said when it ended, and why a run ended is said by its error where it has one.
type account struct {
	show func(trial.Event)
	void string       // of the last trial that was void
	end  *trial.Event // delayed until it is known whether an error follows
}

// take shows an event.
func (a *account) take(e trial.Event) {
	a.release()
	switch e.Phase {
	case trial.PhaseJudged:
		if e.Note != "" {
			a.void = e.Note
		}
	case trial.PhaseEnd:
		e.Note = a.rest(e.Note)
		a.end = &e
		return
	}
	a.show(e)
}

// release shows the end of a run after which there is more.
func (a *account) release() {
	if a.end != nil {
		a.show(*a.end)
	}
	a.end = nil
}

// close shows how a run ended, and returns its error without what was shown of it.
func (a *account) close(err error) error {
	if err == nil {
		a.release()
		return nil
	}
	if text := a.rest(err.Error()); text != err.Error() {
		return remainder{text, err}
	}
	return err
}

// rest is a reason without that of the last void trial, where it ends in that.
func (a *account) rest(reason string) string {
	if a.void == "" {
		return reason
	}
	return strings.TrimSuffix(reason, ": "+a.void)
}

// remainder is an error of which a part was shown before.
type remainder struct {
	text string
	err  error
}

func (t remainder) Error() string { return t.text }
func (t remainder) Unwrap() error { return t.err }
