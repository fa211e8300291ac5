package tuner

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/hoststat/tenants"
)

// stepped is a clock whose intervals end when the test says so.
type stepped struct {
	now   time.Time
	asked chan time.Duration
	ended chan time.Time
}

func newStepped() *stepped {
	return &stepped{time.Unix(1000, 0), make(chan time.Duration), make(chan time.Time)}
}

func (s *stepped) Now() time.Time { return s.now }

func (s *stepped) After(d time.Duration) <-chan time.Time {
	s.asked <- d
	return s.ended
}

// knob is a hand that notes what it was asked.
type knob struct {
	asked  []string
	left   bool
	refuse error // of Off
	crash  bool  // On panics
}

func (k *knob) Left() bool { return k.left }

func (k *knob) On(context.Context) outcome {
	k.asked = append(k.asked, "on")
	k.left = true
	if k.crash {
		panic("a bug")
	}
	return outcome{changes: []string{"batched"}}
}

func (k *knob) Off(ctx context.Context) outcome {
	k.asked = append(k.asked, "off")
	if ctx.Err() != nil {
		return outcome{err: ctx.Err()}
	}
	if k.refuse != nil {
		return outcome{err: k.refuse}
	}
	k.left = false
	return outcome{changes: []string{"put back"}}
}

// host is a host of two CPUs: the tenants and the share of CPU time of each interval; a negative
// share is a host that cannot be read.
type host struct {
	shares []float64
	vms    int
	at     int
	sum    reading
}

func (h *host) see() (reading, error) {
	if h.at > 0 {
		share := h.shares[h.at-1]
		h.at++
		if share < 0 {
			return reading{}, errors.New("no such file")
		}
		h.sum.busy += 100 * share
		h.sum.total += 100
		return h.sum, nil
	}
	h.at++
	h.sum = reading{cpus: 2, busy: 5000, total: 9000, tenants: tenants.Count{VMs: h.vms, VCPUs: 2 * h.vms}}
	return h.sum, nil
}

// played runs a loop over the intervals of a host, and ends it.
func played(t *testing.T, h *host, k *knob) (events []Event, err error) {
	t.Helper()
	clock := newStepped()
	ctx, cancel := context.WithCancel(t.Context())
	l := &loop{clock: clock, every: time.Minute, see: h.see, hand: k, report: func(e Event) { events = append(events, e) }}
	done := make(chan error)
	go func() { done <- l.run(ctx) }()
	for range h.shares {
		select {
		case d := <-clock.asked:
			if d != time.Minute {
				t.Errorf("it waits for %v, want 1m", d)
			}
			clock.ended <- clock.now
		case err := <-done:
			cancel()
			return events, err
		}
	}
	select {
	case <-clock.asked:
		cancel()
		return events, <-done
	case err := <-done:
		cancel()
		return events, err
	}
}

func TestDecisionsOfIntervals(t *testing.T) {
	for _, test := range []struct {
		name   string
		host   host
		asked  []string
		change []bool // whether each decision was one
	}{
		{"never dense", host{shares: []float64{0.9, 0.9}, vms: 1}, nil, []bool{false, false}},
		{"idle", host{shares: []float64{0.1, 0.4}, vms: 8}, nil, []bool{false, false}},
		{"dense until the end", host{shares: []float64{0.9, 0.5, 0.6}, vms: 8}, []string{"on", "on", "on", "off"}, []bool{true, false, false}},
		{"dense and idle again", host{shares: []float64{0.9, 0.49, 0.1}, vms: 8}, []string{"on", "off"}, []bool{true, true, false}},
		{"there and back", host{shares: []float64{0.9, 0.1, 0.9}, vms: 2}, []string{"on", "off", "on", "off"}, []bool{true, true, true}},
		{"not seen", host{shares: []float64{0.9, -1, 0.9}, vms: 8}, []string{"on", "off", "on", "off"}, []bool{true, true, true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			k := &knob{}
			events, err := played(t, &test.host, k)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(k.asked, test.asked) {
				t.Errorf("asked %q, want %q", k.asked, test.asked)
			}
			var changed []bool
			for _, e := range events[:len(events)-1] {
				if e.Kind != Decided || e.Decision == nil || e.Text != e.Decision.Reason || e.Time.IsZero() {
					t.Errorf("event %+v is no decision with its reason", e)
				}
				changed = append(changed, e.Decision.Changed)
			}
			if !slices.Equal(changed, test.change) {
				t.Errorf("decisions changed %v, want %v", changed, test.change)
			}
			if end := events[len(events)-1]; end.Kind != Ended || k.left {
				t.Errorf("it ended with %+v, left %v", end, k.left)
			}
		})
	}
}

func TestTheEvidenceOfADecision(t *testing.T) {
	events, err := played(t, &host{shares: []float64{0.75, -1}, vms: 3}, &knob{})
	if err != nil {
		t.Fatal(err)
	}
	e := events[0]
	if want := "on: 3 VMs (at least 2), 6 vCPUs (at least 4), 75 % of CPU time (at least 50 %) on 2 CPUs"; e.Text != want {
		t.Errorf("said %q, want %q", e.Text, want)
	}
	if c := e.Counters; c == nil || c.CPUs != 2 || c.VMs != 3 || c.VCPUs != 6 || c.Utilization != 0.75 {
		t.Errorf("counters %+v", c)
	}
	if !slices.Equal(e.Changes, []string{"batched"}) {
		t.Errorf("changes %q", e.Changes)
	}
	if e := events[1]; e.Counters != nil || !strings.Contains(e.Text, "off: no such file") {
		t.Errorf("an interval that was not seen: %+v", e)
	}
}

func TestWhatCannotBePutBackIsTriedAgainAndSaid(t *testing.T) {
	k := &knob{refuse: errors.New("read-only")}
	events, err := played(t, &host{shares: []float64{0.9, 0.1, 0.1}, vms: 8}, k)
	if err == nil || !strings.Contains(err.Error(), "read-only") || !strings.Contains(err.Error(), "plimsoll restore") {
		t.Errorf("error %v", err)
	}
	if !slices.Equal(k.asked, []string{"on", "off", "off", "off"}) {
		t.Errorf("asked %q", k.asked)
	}
	if last := events[len(events)-1]; last.Error == "" {
		t.Errorf("the last event has no error: %+v", last)
	}
}

func TestABugPutsEverythingBack(t *testing.T) {
	k := &knob{crash: true}
	_, err := played(t, &host{shares: []float64{0.9, 0.9}, vms: 8}, k)
	if err == nil || !strings.Contains(err.Error(), "a bug") {
		t.Errorf("error %v", err)
	}
	if k.left || !slices.Equal(k.asked, []string{"on", "off"}) {
		t.Errorf("asked %q, left %v", k.asked, k.left)
	}
}

func TestAHostThatCannotBeReadIsRefused(t *testing.T) {
	l := &loop{clock: newStepped(), every: time.Minute, see: func() (reading, error) { return reading{}, errors.New("no /proc") }, hand: &knob{}, report: func(Event) {}}
	if err := l.run(t.Context()); err == nil || !strings.Contains(err.Error(), "no /proc") {
		t.Errorf("error %v", err)
	}
}
