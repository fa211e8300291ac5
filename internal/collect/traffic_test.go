package collect

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	"plimsoll/internal/platform"
)

type wired struct {
	platform.Machine
	traffic platform.Traffic
	in      bool
	away    time.Duration
}

func (w wired) RoundTrip(context.Context) (time.Duration, error) {
	if w.away < 0 {
		return 0, errors.New("nobody answers")
	}
	return w.away, nil
}

func (w wired) Traffic() (platform.Traffic, bool) { return w.traffic, w.in }

// What a switch carries for a guest is counted where the guest has a network, and missed by
// no other machine.
func TestTraffic(t *testing.T) {
	s := Traffic()
	m := wired{traffic: platform.Traffic{FramesIn: 1, FramesOut: 2, BytesIn: 60, BytesOut: 120, Lost: 3}, in: true}
	want := map[string]float64{"guest.network.in": 60, "guest.network.out": 120, "guest.frames.in": 1, "guest.frames.out": 2, "guest.frames.lost": 3}
	if !s.For(m) {
		t.Fatal("it has no meaning on a guest in a network")
	}
	read, err := s.Open(t.Context(), Env{Machine: m})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := read(t.Context()); err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	m.away, want["guest.network.rtt"] = time.Millisecond, .001
	if read, err = s.Open(t.Context(), Env{Machine: m}); err != nil {
		t.Fatal(err)
	}
	if got, err := read(t.Context()); err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	m.away = -1
	if _, err := s.Open(t.Context(), Env{Machine: m}); err == nil {
		t.Error("a network that does not carry is not missed")
	}
	var plain struct{ platform.Machine }
	if s.For(wired{}) || s.For(plain) {
		t.Error("a machine without such a network misses it")
	}
	if _, err := s.Open(t.Context(), Env{Machine: named{plain}}); err == nil {
		t.Error("it was opened on a machine without a network")
	}
}

type named struct{ platform.Machine }

func (named) Name() string { return "plain" }
