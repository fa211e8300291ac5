package sim

import (
	"math"
	"math/rand/v2"
	"time"
)

// gate is what keeps servers from working that are free: stalls, and burst credit that
// ran out. It goes on from one probe of a trial to the next, on the clock of the trial.
type gate struct {
	start  float64 // of the load that runs, on that clock, in seconds
	every  float64 // from one stall to the next; 0 for none
	length float64 // of a stall
	phase  float64 // instant of the first

	refill float64 // credit that comes back a second; 0 for no credit
	credit float64 // most
	owed   float64 // instant at which all credit is there again (GCRA)
}

func newGate(s Settings, rng *rand.Rand) *gate {
	g := &gate{every: time.Duration(s.StallEvery).Seconds(), length: time.Duration(s.Stall).Seconds(), refill: float64(s.Sustained), credit: float64(s.Burst)}
	g.phase = rng.Float64() * g.every
	return g
}

// pass ends a load.
func (g *gate) pass(seconds float64) { g.start += seconds }

// ready is the earliest instant of the load from the given one at which a free server
// begins with an operation.
func (g *gate) ready(at float64) float64 {
	if g.refill > 0 {
		at = math.Max(at, g.owed-(g.credit-1)/g.refill-g.start)
	}
	if until, stalled := g.stalled(at); stalled {
		return until
	}
	return at
}

// take takes the credit of a number of operations.
func (g *gate) take(at, operations float64) {
	if g.refill > 0 {
		g.owed = math.Max(g.owed, at+g.start) + operations/g.refill
	}
}

// finish is when a service ends that begins at an instant: stalls interrupt it.
func (g *gate) finish(at, service float64) float64 {
	if g.every == 0 {
		return at + service
	}
	for {
		next := g.next(at)
		if at+service <= next {
			return at + service
		}
		service -= next - at
		at = next + g.length
	}
}

// stalled is the end of a current stall, if there is one.
func (g *gate) stalled(at float64) (until float64, yes bool) {
	if g.every == 0 {
		return 0, false
	}
	last := g.next(at) - g.every
	return last + g.length, at < last+g.length
}

// next is the beginning of the next stall after an instant.
func (g *gate) next(at float64) float64 {
	n := math.Floor((at + g.start - g.phase) / g.every)
	return (n+1)*g.every + g.phase - g.start
}
