// Package loadtest is for tests with real time.
package loadtest

import (
	"testing"
	"time"
)

// A machine may be too busy for this long, and this often, before its busyness explains
// nothing.
const (
	Patience = 15 * time.Second
	rounds   = 5
)

// Calm holds a test to what it measures by the clock, which the rest of a busy machine may
// spoil: the round is repeated while it ends in an error, and in the end the test fails with
// the last one. What does not depend on time belongs on t.
func Calm(t testing.TB, round func() error) {
	t.Helper()
	CalmWithin(t, Patience, round)
}

// CalmWithin is Calm where the machine may be too busy for another time.
func CalmWithin(t testing.TB, patience time.Duration, round func() error) {
	t.Helper()
	calm(t, time.Now().Add(patience), round)
}

func calm(t testing.TB, over time.Time, round func() error) {
	t.Helper()
	for n := 1; ; n++ {
		err := round()
		switch {
		case err == nil:
			return
		case n >= rounds && time.Now().After(over):
			t.Errorf("in each of %d rounds, at last: %v", n, err)
			return
		}
		t.Logf("round %d: %v", n, err)
	}
}
