package collect

import (
	"context"
	"maps"
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
