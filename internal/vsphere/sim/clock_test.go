package sim_test

import (
	"testing"
	"time"

	"plimsoll/internal/vsphere/sim/clock"
)

func ended(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

func TestStepsMoveAClockWithoutSpeed(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 3, 10, 0, 0, 0, time.UTC)
	c := clock.New(start, 0)
	soon, _ := c.After(time.Minute)
	late, _ := c.After(time.Hour)
	never, stop := c.After(time.Second)
	stop()
	at, _ := c.After(0)
	if !c.Now().Equal(start) || ended(soon) || !ended(at) {
		t.Fatalf("at the beginning it is %v", c.Now())
	}
	c.Step(time.Minute)
	if !c.Now().Equal(start.Add(time.Minute)) || !ended(soon) || ended(late) || ended(never) {
		t.Errorf("after a minute it is %v", c.Now())
	}
	c.Step(-time.Hour)
	if c.Step(time.Hour); !ended(late) || !c.Now().Equal(start.Add(time.Hour+time.Minute)) {
		t.Errorf("after an hour it is %v", c.Now())
	}
}

func TestAFastClockEndsWaitsEarly(t *testing.T) {
	t.Parallel()
	began := time.Now()
	c := clock.New(began, clock.MostSpeed)
	done, _ := c.After(100 * time.Second)
	<-done
	if passed := c.Now().Sub(began); passed < 100*time.Second {
		t.Errorf("the wait ended after %v", passed)
	}
	if wall := time.Since(began); wall < 10*time.Millisecond {
		t.Errorf("100 s at a speed of %d took %v", clock.MostSpeed, wall)
	}
}

func TestWithoutAClockItIsTheTimeOfTheWall(t *testing.T) {
	t.Parallel()
	var c *clock.Clock
	before := time.Now()
	if now := c.Now(); now.Before(before) {
		t.Errorf("now is %v, before %v", now, before)
	}
	done, _ := c.After(time.Millisecond)
	<-done
	if time.Since(before) < time.Millisecond {
		t.Error("a wait of 1 ms took less")
	}
}

func TestSpeeds(t *testing.T) {
	t.Parallel()
	for speed, fine := range map[float64]bool{0: true, 1: true, 60: true, .5: true, -1: false, 1e9: false, 1e-9: false} {
		if got := clock.Validate(speed) == nil; got != fine {
			t.Errorf("speed %v: %v", speed, clock.Validate(speed))
		}
	}
}
