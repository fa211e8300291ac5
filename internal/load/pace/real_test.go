package pace

import (
	"fmt"
	"math"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/load/loadtest"
)

func cpu(t *testing.T) time.Duration {
	t.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		t.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// TestWallClock states what a machine that does nothing else gives.
func TestWallClock(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" || os.Getenv("PLIMSOLL_DEEP") == "" {
		t.Skip("set PLIMSOLL_REAL=1 and PLIMSOLL_DEEP=1 to measure how punctual this machine is, while it does nothing else")
	}
	spin, err := Calibrate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("calibrated: spins for %s", spin)
	const exact, punctual = .001, 5 * time.Millisecond
	for _, rate := range []float64{10, 100, 1000, 10_000} {
		loadtest.Calm(t, func() error {
			off, late := keeps(t, spin, rate)
			if math.Abs(off) > exact || late > punctual {
				return fmt.Errorf("%g/s: the rate is %.3f %% off, one operation in a hundred starts more than %s late", rate, 100*off, late)
			}
			return nil
		})
	}
}

// keeps keeps a rate for three seconds. It is how far the rate was off, as a share, and how
// late one in a hundred operations began, those that caught up included.
func keeps(t *testing.T, spin time.Duration, rate float64) (off float64, late time.Duration) {
	p, err := New(t.Context(), At(time.Now()), spin)
	if err != nil {
		t.Fatal(err)
	}
	before := cpu(t)
	var first, last time.Duration
	var lag []time.Duration
	n := int(3 * rate)
	for i := range n {
		due := 10*time.Millisecond + time.Duration(float64(i)/rate*1e9)
		now, err := p.Until(due)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = now
		}
		last = now
		lag = append(lag, now-due)
	}
	spent := cpu(t) - before
	slices.Sort(lag)
	off, late = float64(n-1)/(last-first).Seconds()/rate-1, lag[n*99/100]
	g := p.Gaps()
	t.Logf("%6g/s: rate %+.4f %%, lag p50 %s p99 %s, longest gap %s, spun %s, cpu %s a wait",
		rate, 100*off, lag[n/2], late, g.Longest, g.Spun, spent/time.Duration(n))
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	return off, late
}
