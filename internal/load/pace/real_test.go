package pace

import (
	"math"
	"os"
	"syscall"
	"testing"
	"time"
)

func cpu(t *testing.T) time.Duration {
	t.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		t.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// TestWallClock states what this machine gives. What lateness is possible is the machine's
// affair, so that its bounds are wide; with PLIMSOLL_DEEP=1, for a machine that does nothing
// else, the rate must be right within 0.1 %.
func TestWallClock(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to measure how punctual this machine is")
	}
	spin, err := Calibrate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("calibrated: spins for %s", spin)
	const length = 3 * time.Second
	exact, punctual := .01, 50*time.Millisecond
	if os.Getenv("PLIMSOLL_DEEP") != "" {
		exact, punctual = .001, 5*time.Millisecond
	}
	for _, rate := range []float64{10, 100, 1000, 10_000} {
		p, err := New(t.Context(), At(time.Now()), spin)
		if err != nil {
			t.Fatal(err)
		}
		before := cpu(t)
		var first, last time.Duration
		var lag Gaps // of every operation, those that catch up included
		n := int(length.Seconds() * rate)
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
			lag.count(now - due)
		}
		spent := cpu(t) - before
		off := float64(n-1)/(last-first).Seconds()/rate - 1
		g := p.Gaps()
		t.Logf("%6g/s: rate %+.4f %%, lag p50 %s p99 %s, gaps p99 %s longest %s, spun %s, cpu %s a wait",
			rate, 100*off, lag.Quantile(.5), lag.Quantile(.99), g.Quantile(.99), g.Longest, g.Spun, spent/time.Duration(n))
		if math.Abs(off) > exact {
			t.Errorf("%g/s: the rate is %.3f %% off", rate, 100*off)
		}
		if late := lag.Quantile(.99); late > punctual {
			t.Errorf("%g/s: one operation in a hundred starts more than %s late", rate, late)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}
