package machines

import (
	"math"
	"testing"
	"time"
)

// The share withheld is of the time wanted: user, nice, system, interrupts and steal.
func TestWithheld(t *testing.T) {
	t.Parallel()
	at := time.Unix(0, 0)
	before := readCensus("cpu  100 0 100 5000 50 0 0 10 7 0\ncpu0 100 0 100 5000 50 0 0 10 7 0\n", at)
	after := readCensus("cpu  130 10 140 9000 90 5 5 20 30 0\ncpu0 130 10 140 9000 90 5 5 20 30 0\n", at.Add(time.Minute))
	if got := after.Withheld(before); math.Abs(got-.1) > 1e-12 || after.CPUs != 1 {
		t.Errorf("withheld %g of the time of %d CPUs, want 0.1 of 1", got, after.CPUs)
	}
	if got := before.Withheld(before); got != 0 {
		t.Errorf("no time has passed, and %g is withheld", got)
	}
	if got := readCensus("cpu  1 2\n", at); got.wanted != 0 {
		t.Errorf("a line cut short: %+v", got)
	}
}
