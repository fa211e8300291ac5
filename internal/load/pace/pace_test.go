package pace

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"
)

// virtual is a timer whose time passes only by looking at it and by sleeping.
type virtual struct {
	time  time.Duration
	look  time.Duration // what a look at the clock takes
	over  func() time.Duration
	asked []time.Duration
	ended bool
}

func (v *virtual) now() time.Duration {
	v.time += v.look
	return v.time
}

func (v *virtual) sleep(until time.Duration) error {
	if v.ended {
		return errors.New("interrupted")
	}
	v.asked = append(v.asked, until)
	v.time = max(v.time, until) + v.over()
	return nil
}

func (v *virtual) interrupt()   { v.ended = true }
func (v *virtual) close() error { return nil }

func always(d time.Duration) func() time.Duration { return func() time.Duration { return d } }

func TestUntil(t *testing.T) {
	const us = time.Microsecond
	for _, c := range []struct {
		name             string
		over, spin       time.Duration
		due, asked, want time.Duration // since the call at 0; asked -1: does not sleep
		gap, spun        time.Duration
	}{
		{name: "sleeps, then spins", over: 20 * us, spin: 50 * us, due: 1000 * us, asked: 950 * us, want: 1000 * us, spun: 29 * us},
		{name: "wakes up late", over: 70 * us, spin: 50 * us, due: 1000 * us, asked: 950 * us, want: 1021 * us, gap: 21 * us},
		{name: "too soon to sleep", over: 20 * us, spin: 50 * us, due: 40 * us, asked: -1, want: 40 * us, spun: 39 * us},
		{name: "never spins", over: 20 * us, due: 1000 * us, asked: 1000 * us, want: 1021 * us, gap: 21 * us},
	} {
		v := &virtual{look: us, over: always(c.over)}
		p := &Pacer{ctx: t.Context(), timer: v, spin: c.spin}
		now, err := p.Until(c.due)
		asked := time.Duration(-1)
		if len(v.asked) > 0 {
			asked = v.asked[0]
		}
		g := p.Gaps()
		if err != nil || now != c.want || asked != c.asked || g.Waits != 1 || g.Longest != c.gap || g.Spun != c.spun {
			t.Errorf("%s: at %s asked %s gap %s spun %s, %v; want %+v", c.name, now, asked, g.Longest, g.Spun, err, c)
		}
	}
}

func TestUntilReturnsAtOnceWhenLate(t *testing.T) {
	v := &virtual{time: time.Second, over: always(0)}
	p := &Pacer{ctx: t.Context(), timer: v}
	now, err := p.Until(time.Millisecond)
	if g := p.Gaps(); now != time.Second || err != nil || g.Waits != 0 || len(v.asked) != 0 {
		t.Errorf("at %s, %v, %d waits, slept until %s", now, err, g.Waits, v.asked)
	}
}

// Stolen time makes single instants late and never the rate: what follows is caught up.
func TestLatenessDoesNotAddUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	v := &virtual{look: 25, over: func() time.Duration {
		if rng.IntN(100) == 0 {
			return 5 * time.Millisecond
		}
		return time.Duration(rng.IntN(60_000))
	}}
	p := &Pacer{ctx: t.Context(), timer: v, spin: 40 * time.Microsecond}
	const period, n = 100 * time.Microsecond, 20_000
	var now time.Duration
	onTime := 0
	for i := range n {
		due := time.Duration(i) * period
		var err error
		if now, err = p.Until(due); err != nil || now < due {
			t.Fatalf("wait %d for %s ended at %s, %v", i, due, now, err)
		}
		if now-due < time.Microsecond {
			onTime++
		}
	}
	if late := now - (n-1)*period; late > 6*time.Millisecond {
		t.Errorf("the last of %d waits was %s late", n, late)
	}
	if g := p.Gaps(); g.Longest < 4900*time.Microsecond || g.Longest > 6*time.Millisecond || onTime < n/4 {
		t.Errorf("the longest gap is %s, want 5 ms less the spin; %d of %d on time", g.Longest, onTime, n)
	}
}

func TestTheContextEndsAWait(t *testing.T) {
	because := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	p, err := New(ctx, At(time.Now()), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	asleep := make(chan struct{})
	go func() {
		<-asleep
		cancel(because)
	}()
	close(asleep)
	if _, err := p.Until(time.Hour); !errors.Is(err, because) {
		t.Errorf("a wait of an hour ended with %v", err)
	}
	for _, due := range []time.Duration{0, time.Hour} {
		if _, err := p.Until(due); !errors.Is(err, because) {
			t.Errorf("a wait for %s after the end gave %v", due, err)
		}
	}
	if g := p.Gaps(); g.Waits != 0 {
		t.Errorf("%d waits are counted that never ended", g.Waits)
	}
}

// However busy the machine: an instant is never early, and waiting costs no memory.
func TestRealWaits(t *testing.T) {
	p, err := New(t.Context(), At(time.Now()), 20*time.Microsecond)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	now := 5 * time.Millisecond
	step := func() {
		due := now + 100*time.Microsecond
		if now, err = p.Until(due); err != nil || now < due {
			t.Fatalf("a wait for %s ended at %s, %v", due, now, err)
		}
	}
	if n := testing.AllocsPerRun(100, step); n != 0 {
		t.Errorf("a wait allocates %g times", n)
	}
	if g := p.Gaps(); g.Waits == 0 {
		t.Error("no wait is counted")
	}
}

func TestCalibrate(t *testing.T) {
	spin, err := Calibrate(t.Context())
	if err != nil || spin < margin || spin > mostSpin {
		t.Errorf("got %s, %v", spin, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Calibrate(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("calibrated although cancelled: %v", err)
	}
}

// The spin covers the wake-ups of a calm machine, whatever a neighbour does to one batch.
func TestSpin(t *testing.T) {
	for _, c := range []struct {
		name              string
		wake, burst, want time.Duration
	}{
		{"calm", 20 * time.Microsecond, 20 * time.Microsecond, 25 * time.Microsecond},
		{"a burst of noise", 20 * time.Microsecond, 900 * time.Microsecond, 25 * time.Microsecond},
		{"wakes up slowly", time.Millisecond, time.Millisecond, mostSpin},
	} {
		naps := 0
		v := &virtual{over: func() time.Duration {
			naps++
			if naps > batch && naps < 3*batch {
				return c.burst
			}
			return c.wake
		}}
		p := &Pacer{ctx: t.Context(), timer: v}
		if spin, err := p.calibrate(); err != nil || spin != c.want {
			t.Errorf("%s: spins for %s, %v, want %s", c.name, spin, err, c.want)
		}
	}
}
