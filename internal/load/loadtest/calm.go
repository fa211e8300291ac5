// Package loadtest is for tests in real time.
package loadtest

import (
	"testing"
	"time"
)

// Limits of retries on a busy machine.
const (
	Patience = 15 * time.Second
	rounds   = 5
)

// Calm repeats a round of a test in real time, which other processes may disturb, while it
// returns an error; in the end the test fails with the last one. Assertions that do not depend
// on time belong on t.
func Calm(t testing.TB, round func() error) {
	t.Helper()
	CalmWithin(t, Patience, round)
}

// CalmWithin is Calm with another time limit.
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
