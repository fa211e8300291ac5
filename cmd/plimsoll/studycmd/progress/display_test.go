package progress

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/cmd/plimsoll/cli"
	"plimsoll/internal/measure"
	"plimsoll/internal/trial"
)

func TestLines(t *testing.T) {
	rate := 19883.25
	head := trial.Event{Trial: 12, Trials: 48, Block: 6, Arm: "sim.knob=on", Left: 9 * time.Minute, Soonest: 3 * time.Minute}
	with := func(change func(*trial.Event)) trial.Event { e := head; change(&e); return e }
	for _, c := range []struct {
		event  trial.Event
		lasted time.Duration
		want   string
	}{
		{with(func(e *trial.Event) {
			e.Phase, e.Value, e.Metric = trial.PhaseJudged, &rate, measure.Metric{Name: "operations", Unit: "1/s"}
		}), 0, "trial 12/48  block 6  sim.knob=on  operations 19,880/s"},
		{with(func(e *trial.Event) { e.Phase, e.Note = trial.PhaseJudged, "it drifts" }), 0, "trial 12/48  block 6  sim.knob=on  void: it drifts"},
		{with(func(e *trial.Event) { e.Phase = trial.PhaseJudged }), 0, "trial 12/48  block 6  sim.knob=on  valid"},
		{trial.Event{Phase: trial.PhaseEnd, Note: "decided"}, 0, "end: decided"},
		{with(func(e *trial.Event) { e.Phase, e.Rate = trial.PhaseMeasure, rate }), 5 * time.Second,
			"[##--------] 12/48 · 3 min 00 s to 9 min 00 s left · measure 5 s 19,880/s · sim.knob=on"},
		{with(func(e *trial.Event) { e.Phase, e.Left, e.Soonest = trial.PhaseApply, 0, 0 }), 0, "[##--------] 12/48 · apply · sim.knob=on"},
		{trial.Event{Phase: trial.PhasePrepare, Left: time.Hour + 90*time.Second, Soonest: time.Hour + 90*time.Second}, time.Minute, "1 h 01 min left · prepare 1 min 00 s"},
	} {
		got := ended(c.event)
		if !lasting(c.event) {
			got = state(c.event, c.lasted)
		}
		if got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// At 80 columns the trial and the time left are there, and the line does not wrap.
func TestStateOnANarrowTerminal(t *testing.T) {
	e := trial.Event{Phase: trial.PhaseMeasure, Trial: 100, Trials: 480, Arm: strings.Repeat("storage.threads=2 ", 9), Left: 9 * time.Hour, Soonest: 3 * time.Hour, Rate: 1e6}
	got := cli.Clip(state(e, time.Hour), 79)
	if n := len([]rune(got)); n > 79 || !strings.Contains(got, "100/480 · 3 h 00 min to 9 h 00 min left · measure") {
		t.Errorf("%d columns: %q", n, got)
	}
}

// A phase that begins right after another is drawn, however long the next event takes;
// within one there are ten states a second; a phase without events shows its clock.
func TestDisplayOnATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		d := &display{out: &out, renew: func(text string) { out.WriteString(text) }, width: func() int { return 80 }}
		d.start()
		drawn := func(after time.Duration, e trial.Event) string {
			<-time.After(after) // virtual
			synctest.Wait()
			out.Reset()
			d.show(e)
			return out.String()
		}
		measuring := trial.Event{Phase: trial.PhaseMeasure, Trial: 1, Trials: 2}
		for i, c := range []struct {
			after time.Duration
			event trial.Event
			want  bool
		}{
			{0, trial.Event{Phase: trial.PhaseApply, Trial: 1, Trials: 2}, true},
			{time.Millisecond, trial.Event{Phase: trial.PhasePrepare, Trial: 1, Trials: 2}, true},
			{time.Millisecond, measuring, true},
			{time.Millisecond, measuring, false},
			{redraw, measuring, true},
		} {
			if got := drawn(c.after, c.event) != ""; got != c.want {
				t.Errorf("event %d: drawn %t", i, got)
			}
		}
		out.Reset()
		<-time.After(3 * time.Second) // virtual
		synctest.Wait()
		if !strings.Contains(out.String(), "measure 3 s") {
			t.Errorf("after 3 s without events: %q", out.String())
		}
		d.close()
	})
}

// Elsewhere a line is written when a trial ends, and once a minute while none does.
func TestDisplayInALog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		d := &display{out: &out}
		d.start()
		d.show(trial.Event{Phase: trial.PhasePrepare, Trial: 1, Trials: 2})
		if out.Len() > 0 {
			t.Errorf("a phase wrote %q", out.String())
		}
		<-time.After(3*time.Minute + time.Second) // virtual
		synctest.Wait()
		if n := strings.Count(out.String(), "\n"); n != 3 || strings.Contains(out.String(), "\x1b") {
			t.Errorf("in three minutes: %q", out.String())
		}
		d.show(trial.Event{Phase: trial.PhaseJudged, Trial: 1, Trials: 2})
		out.Reset()
		<-time.After(time.Minute) // virtual
		d.close()
		if out.Len() > 0 {
			t.Errorf("between trials: %q", out.String())
		}
	})
}
