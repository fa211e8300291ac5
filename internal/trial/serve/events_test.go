package serve

import (
	"context"
	"slices"
	"testing"
	"time"

	"plimsoll/internal/hoststat/trace"
	"plimsoll/internal/service"
)

// diary is a service that logs a line at a time.
type diary struct {
	mortal
	lines []string
}

func (d *diary) Logged(context.Context) []byte {
	line := d.lines[0]
	d.lines = d.lines[1:]
	return []byte(line)
}

// What a service logged is on the clock of the load: its machine's clock is 2 s ahead here. The log
// of earlier loads counts as well.
func TestHappened(t *testing.T) {
	began := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	at := func(seconds float64) time.Time {
		return began.Add(time.Duration((seconds + 2) * float64(time.Second)))
	}
	s := &Services{}
	over := Span{Began: began, Ended: began.Add(10 * time.Second), Clock: 2 * time.Second}
	if got := s.Happened(over); got != nil || s.Logged(t.Context()) != nil {
		t.Errorf("without a service: %+v", got)
	}
	d := &diary{lines: []string{"before\n", "now\n"}}
	s.Current = &Running{Instance: d, Kind: service.Kind{Name: "postgresql", Events: func(log []byte) []service.Event {
		if string(log) != "before\nnow\n" {
			t.Errorf("the log is %q", log)
		}
		return []service.Event{
			{From: at(-9), To: at(-3), Name: "checkpoint"}, // before the load
			{From: at(-2), To: at(1), Name: "checkpoint"},
			{From: at(3), To: at(4.5), Name: "checkpoint"},
			{From: at(8), Name: "checkpoint"},
			{From: at(11), To: at(12), Name: "checkpoint"}, // after it
		}
	}}}
	if first, then := s.Logged(t.Context()), s.Logged(t.Context()); string(first) != "before\n" || string(then) != "now\n" {
		t.Errorf("the log is %q, then %q", first, then)
	}
	want := []trace.Event{
		{From: -2, To: 1, Kind: "checkpoint", Name: "postgresql", Value: 3, Unit: "s"},
		{From: 3, To: 4.5, Kind: "checkpoint", Name: "postgresql", Value: 1.5, Unit: "s"},
		{From: 8, To: 10, Kind: "checkpoint", Name: "postgresql", Value: 2, Unit: "s"},
	}
	if got := s.Happened(over); !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
	s.Current.Kind.Events = nil
	if got := s.Happened(over); got != nil {
		t.Errorf("a service without events: %+v", got)
	}
}
