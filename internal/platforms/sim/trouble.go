package sim

import (
	"math"
	"math/rand/v2"
	"time"

	"plimsoll/internal/platform"
)

// speed is how fast the servers are in a trial, relative to their capacity.
func (t *testbed) speed(run platform.Run, inEffect map[string]string) float64 {
	speed := math.Exp(float64(t.Noise) * t.disturb(run))
	speed *= 1 + t.Drift*float64(run.Trial-1)/100
	if run.Slot > 1 {
		speed *= 1 + t.SlotEffect
	}
	for _, e := range t.effects {
		if !e.latency && e.holds(inEffect) {
			speed *= 1 + e.change
		}
	}
	for _, c := range t.counters {
		if c.elasticity != 0 {
			speed *= math.Pow(t.level(c, run, inEffect), c.elasticity)
		}
	}
	return speed
}

// latency is the factor of response times over service times.
func (t *testbed) latency(inEffect map[string]string) float64 {
	latency := 1.0
	for _, e := range t.effects {
		if e.latency && e.holds(inEffect) {
			latency *= 1 + e.change
		}
	}
	return latency
}

// trace is how the speed goes within a trial, relative to its own level: a
// function of the instant, to be asked once for each interval in turn.
func (t *testbed) trace(run platform.Run) func(at time.Duration) float64 {
	rng := t.random(run.Trial, run.Probe, "ripple")
	ripple := rng.NormFloat64()
	return func(at time.Duration) float64 {
		now := math.Exp(float64(t.Ripple)*ripple) * (1 + t.Decline*at.Minutes())
		ripple = rippleMemory*ripple + math.Sqrt(1-rippleMemory*rippleMemory)*rng.NormFloat64()
		if t.Warmup > 0 {
			now *= 1 - float64(t.Dip)*math.Exp(-at.Seconds()/time.Duration(t.Warmup).Seconds())
		}
		return now
	}
}

// rippleMemory is the correlation of the ripple of neighbouring intervals.
const rippleMemory = .5

// disturbance is the noise of a trial in standard deviations: an AR(1) series
// over the trials.
type disturbance struct {
	trial int
	z     float64
	rng   *rand.Rand
}

// disturb returns the noise of a load. The series is made from its start, so
// that a study that was resumed sees the same; it goes on from the last trial
// where that is possible. The probes of a search are a series of their own, which
// starts at the noise of their trial.
func (t *testbed) disturb(run platform.Run) float64 {
	if t.last.rng == nil || run.Trial < t.last.trial {
		rng := t.random(0, 0, "noise")
		t.last = disturbance{1, rng.NormFloat64(), rng}
	}
	for ; t.last.trial < run.Trial; t.last.trial++ {
		t.last.z = t.follow(t.last.z, t.last.rng)
	}
	z := t.last.z
	if run.Probe == 0 {
		return z
	}
	rng := t.random(run.Trial, 0, "noise of probes")
	for range run.Probe {
		z = t.follow(z, rng)
	}
	return z
}

// follow is the noise after z.
func (t *testbed) follow(z float64, rng *rand.Rand) float64 {
	return t.Autocorrelation*z + math.Sqrt(1-t.Autocorrelation*t.Autocorrelation)*rng.NormFloat64()
}
