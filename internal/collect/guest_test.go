package collect

import (
	"context"
	"maps"
	"math"
	"testing"
	"time"

	"plimsoll/internal/platform"
)

type hosted struct {
	platform.Machine
	given platform.GuestUsage
}

func (h hosted) Given(context.Context) (platform.GuestUsage, error) { return h.given, nil }
func (h hosted) Process(context.Context) (int, error)               { return 1, nil }

// What a host gives to a guest is counted, exits where they are shown; a machine that is no
// guest does not miss it.
func TestGuest(t *testing.T) {
	s := Guest()
	for exits, want := range map[int64]map[string]float64{
		-1: {"guest.run": 3, "guest.ready": .5, "guest.others": 1}, 7: {"guest.run": 3, "guest.ready": .5, "guest.others": 1, "guest.exits": 7},
	} {
		m := hosted{given: platform.GuestUsage{Run: 3 * time.Second, Ready: 500 * time.Millisecond, Others: time.Second, Exits: exits}}
		if !s.For(m) {
			t.Fatal("it has no meaning on a guest")
		}
		read, err := s.Open(t.Context(), Env{Machine: m})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := read(t.Context()); err != nil || !maps.Equal(got, want) {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
	}
	var plain struct{ platform.Machine }
	if s.For(plain) {
		t.Error("a machine that is no guest misses it")
	}
}

// Means are of the checkpoints since the last reading, and there are none without a checkpoint.
func TestCheckpoints(t *testing.T) {
	c := platform.Checkpoints{Taken: 2, Paused: 40 * time.Millisecond, Held: 100 * time.Millisecond, Copied: 4096}
	m := hosted{given: platform.GuestUsage{Exits: -1, Checkpoints: &c}}
	read, err := Guest().Open(t.Context(), Env{Machine: m})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []map[string]float64{
		{"guest.checkpoints": 2, "guest.paused": 0.04, "guest.copied": 4096, "guest.failovers": 0},
		{"guest.checkpoints": 3, "guest.paused": 0.045, "guest.copied": 8192, "guest.failovers": 1, "guest.pause": 0.005, "guest.output_delay": 0.01},
	} {
		if i == 1 {
			c = platform.Checkpoints{Taken: 3, Paused: 45 * time.Millisecond, Held: 110 * time.Millisecond, Copied: 8192, Failovers: 1}
		}
		got, err := read(t.Context())
		for _, own := range []string{"guest.run", "guest.ready", "guest.others"} {
			delete(got, own)
		}
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
	}
	want := map[string]float64{"guest.checkpoints": 0.5, "guest.paused": 0.0025, "guest.copied": 2048, "guest.failovers": 0.5, "guest.pause": 0.005, "guest.output_delay": 0.01}
	before := platform.Checkpoints{Taken: 2, Paused: 40 * time.Millisecond, Held: 100 * time.Millisecond, Copied: 4096}
	if got := Checkpoints(c, before, 2*time.Second); !near(got, want) {
		t.Errorf("over two seconds %v, want %v", got, want)
	}
}

func near(got, want map[string]float64) bool {
	return maps.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })
}
