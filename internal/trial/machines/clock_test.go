package machines

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/platform"
	"plimsoll/internal/workload"
)

// clocked is a machine whose clock differs from ours, each time by the next of its offsets.
type clocked struct {
	platform.Machine
	offsets []time.Duration
	unsure  time.Duration
	virtual bool
	event   string
	broken  error
}

func (c *clocked) Name() string { return "far" }

func (c *clocked) Offset(context.Context) (offset, uncertainty time.Duration, err error) {
	if len(c.offsets) == 0 {
		return 0, 0, c.broken
	}
	offset, c.offsets = c.offsets[0], c.offsets[1:]
	return offset, c.unsure, nil
}

func (c *clocked) Given(context.Context) (platform.GuestUsage, error) {
	return platform.GuestUsage{VirtualTime: c.virtual}, nil
}
func (c *clocked) Process(context.Context) (int, error)                         { return 0, nil }
func (c *clocked) Pending() string                                              { return c.event }
func (c *clocked) Disturb(context.Context) (values map[string]float64, _ error) { return nil, nil }

func alone(m platform.Machine) Set {
	return Set{{At: Workspace{Machine: m}, Kind: workload.Kind{Name: "load"}}}
}

func TestWatchClocks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		at   clocked
		want string // empty for none
	}{
		{"constant", clocked{offsets: []time.Duration{time.Hour, time.Hour}}, ""},
		{"slewed", clocked{offsets: []time.Duration{0, 15 * time.Millisecond}}, ""},
		{"within its uncertainty", clocked{offsets: []time.Duration{0, 100 * time.Millisecond}, unsure: 50 * time.Millisecond}, ""},
		{"paused", clocked{offsets: []time.Duration{time.Second, -2 * time.Second}}, "the clock of machine far fell behind by 3 s in "},
		{"set", clocked{offsets: []time.Duration{time.Second, 2 * time.Second}}, "the clock of machine far ran ahead by 1 s in "},
		{"virtual time", clocked{offsets: []time.Duration{0, time.Minute}, virtual: true}, ""},
		{"migrated by the study", clocked{offsets: []time.Duration{0, time.Minute}, event: "migrate"}, ""},
		{"no answer", clocked{offsets: []time.Duration{0}, broken: errors.New("gone")}, "read the clock of machine far: gone"},
	} {
		compare, err := alone(&c.at).WatchClocks(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		err = compare(t.Context())
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%s gives %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := alone(&clocked{broken: errors.New("gone")}).WatchClocks(t.Context()); err == nil {
		t.Error("a clock that cannot be read is accepted")
	}
	idle := Set{{At: Workspace{Machine: &clocked{broken: errors.New("gone")}}}}
	if _, err := idle.WatchClocks(t.Context()); err != nil {
		t.Errorf("a machine without a load: %v", err)
	}
}

// Two clocks may part by a share of the time between the readings.
func TestClocksPart(t *testing.T) {
	t.Parallel()
	now := time.Now()
	first := clockReading{at: now}
	for lost, void := range map[time.Duration]bool{500 * time.Millisecond: false, 700 * time.Millisecond: true, -700 * time.Millisecond: true} {
		err := first.parts(clockReading{at: now.Add(time.Minute), offset: -lost}, "far")
		if got := err != nil; got != void {
			t.Errorf("after %s of a minute: %v", lost, err)
		}
	}
}
