package serve

import (
	"errors"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
	"testing"
)

// A trial whose service died says so, in one line.
func TestDied(t *testing.T) {
	trouble := errors.New("nothing listens there")
	s := &Services{}
	if got := s.Died(trouble); got != trouble {
		t.Errorf("without a service: %v", got)
	}
	death := &service.DeathError{Program: "postgres", Result: platform.Result{Signal: "SIGKILL"}, Log: "line 1\nline 2"}
	s.Current = &Running{Instance: mortal{of: death}, Kind: service.Kind{Name: "postgresql"}}
	const want = "service postgresql: postgres was ended by signal SIGKILL: nothing listens there"
	if got := s.Died(trouble); got.Error() != want || !errors.Is(got, trouble) {
		t.Errorf("got %v, want %s", got, want)
	}
}
