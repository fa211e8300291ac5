package progress

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"plimsoll/internal/trial"
)

// Each reason is said once: by the trial, by the end, or by the error.
func TestReasonsAreSaidOnce(t *testing.T) {
	void := trial.Event{Phase: trial.PhaseJudged, Note: "it died: badly"}
	end := trial.Event{Phase: trial.PhaseEnd, Note: "too many were void; the last was trial 2: it died: badly"}
	cause := errors.New("it died: badly")
	for name, c := range map[string]struct {
		events []trial.Event
		failed error
		shown  []string
		left   string
	}{
		"a run that failed":   {[]trial.Event{void, end}, fmt.Errorf("nothing to judge; the last, trial 2: %w", cause), []string{"it died: badly"}, "nothing to judge; the last, trial 2"},
		"one that stopped":    {[]trial.Event{void, end}, nil, []string{"it died: badly", "too many were void; the last was trial 2"}, ""},
		"one with more after": {[]trial.Event{end, {Note: "round 2"}, end}, cause, []string{"too many were void; the last was trial 2: it died: badly", "round 2"}, "it died: badly"},
		"one that had ended":  {nil, cause, nil, "it died: badly"},
	} {
		var shown []string
		a := &account{show: func(e trial.Event) { shown = append(shown, e.Note) }}
		for _, e := range c.events {
			a.take(e)
		}
		err := a.close(c.failed)
		if !slices.Equal(shown, c.shown) || (err == nil) != (c.failed == nil) || err != nil && (err.Error() != c.left || !errors.Is(err, cause)) {
			t.Errorf("%s: shows %q and returns %v; want %q and %q", name, shown, err, c.shown, c.left)
		}
	}
}
