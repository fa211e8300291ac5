package load

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Arrivals are the due times of an open loop. It is a pure function of the stage's origin
// and seed.
type Arrivals struct {
	Rate    float64         // operations per second at the origin; 0 is a closed loop
	Poisson bool            // exponential interarrival times instead of constant ones
	Shape   Shape           // how the rate changes; nil leaves it as it is
	Trace   []time.Duration // due times from a file, ascending, instead of a rate
}

// Shape is a rate that changes over a stage. ParseShape makes one.
type Shape interface {
	// Expected is the integral of the rate up to t, for a rate of 1/s at the origin. It never
	// decreases.
	Expected(t time.Duration) float64
	// At is the inverse of Expected, in seconds. It is infinite if n is never reached.
	At(n float64) float64
	// String is the text that ParseShape reads.
	String() string
}

// Schedule yields the due times of one worker's operations, since the origin of the stage, in
// ascending order.
type Schedule interface {
	// Next is the next due time; ok is false when there is none.
	Next() (due time.Duration, ok bool)
}

// Shard is the part of a schedule of one of several workers or hosts: number Index of Count.
// It has the operations i with i mod Count = Index, so that the shards together are the
// schedule. The zero value is the whole schedule.
type Shard struct{ Index, Count int }

// Validate refuses a shard that is not one of its count.
func (s Shard) Validate() error {
	if s.Index < 0 || s.Index >= max(1, s.Count) || s.Count < 0 {
		return fmt.Errorf("shard %d of %d: shards are numbered from 0 to one less than their count", s.Index, s.Count)
	}
	return nil
}

// mostRate is the highest rate of a schedule, 1/s: operations closer than a
// nanosecond have no order.
const mostRate = 1e9

// Validate refuses arrivals that no schedule can have.
func (a Arrivals) Validate() error {
	switch {
	case math.IsNaN(a.Rate) || a.Rate < 0 || a.Rate > mostRate:
		return fmt.Errorf("a rate of %g/s is not between 0/s and %g/s", a.Rate, float64(mostRate))
	case a.Rate > 0 && len(a.Trace) > 0:
		return errors.New("rate and trace are mutually exclusive")
	case len(a.Trace) > 0 && (a.Poisson || a.Shape != nil):
		return errors.New("a trace defines all due times: omit shape and arrivals")
	case a.Rate == 0 && (a.Poisson || a.Shape != nil):
		return errors.New("shape requires a rate")
	case !slices.IsSorted(a.Trace) || len(a.Trace) > 0 && a.Trace[0] < 0:
		return errors.New("the times of a trace must be ascending from 0")
	}
	return nil
}

// Schedule makes the schedule of a shard, up to the length of the stage. Nothing is
// due in one that Validate refuses. Next allocates nothing.
func (a Arrivals) Schedule(seed uint64, length time.Duration, shard Shard) Schedule {
	step := max(1, shard.Count)
	switch {
	case shard.Validate() != nil:
		return &traced{}
	case len(a.Trace) > 0:
		return &traced{trace: a.Trace, next: shard.Index, step: step, length: length}
	case a.Poisson:
		return &poisson{Arrivals: a, source: *rand.NewPCG(seed, 0x6172726976616c73), skip: shard.Index, step: step, length: length}
	}
	return &even{Arrivals: a, next: int64(shard.Index), step: int64(step), length: length}
}

// at is the instant at which n operations were due, in seconds.
func (a Arrivals) at(n float64) float64 {
	if a.Shape == nil {
		return n / a.Rate
	}
	return a.Shape.At(n / a.Rate)
}

// mostSeconds is a little less than the longest time that a Duration can hold.
const mostSeconds = math.MaxInt64/1e9 - 1

// instant converts seconds. Values beyond any stage stay beyond it.
func instant(seconds float64) time.Duration {
	if !(seconds < mostSeconds) {
		return math.MaxInt64
	}
	return time.Duration(math.Round(seconds * 1e9))
}

// even is a schedule with constant gaps. Each due time is computed from its index and the
// origin, so that rounding errors do not accumulate.
type even struct {
	Arrivals
	next, step int64
	length     time.Duration
}

func (e *even) Next() (time.Duration, bool) {
	var due time.Duration
	if whole := math.Floor(float64(e.next) / e.Rate); e.Shape == nil && whole < mostSeconds {
		// Whole seconds separately, so that nanoseconds stay exact in a long stage.
		due = time.Duration(whole)*time.Second + instant((float64(e.next)-whole*e.Rate)/e.Rate)
	} else {
		due = instant(e.at(float64(e.next)))
	}
	e.next += e.step
	return due, due < e.length
}

// poisson is a schedule of a Poisson process: unit-rate gaps, mapped through the inverse of
// the integral of the rate (Çinlar 1975, Introduction to Stochastic Processes, section 4.7).
// Every shard draws all arrivals and keeps its own.
type poisson struct {
	Arrivals
	source rand.PCG
	sum    float64 // operations expected before the last arrival
	skip   int     // arrivals of other shards before the next of this one
	step   int
	length time.Duration
}

func (p *poisson) Next() (time.Duration, bool) {
	for range p.skip + 1 {
		p.sum += exponential(&p.source)
	}
	p.skip = p.step - 1
	due := instant(p.at(p.sum))
	return due, due < p.length
}

// exponential draws from the exponential distribution of mean 1, by inversion.
func exponential(source *rand.PCG) float64 {
	u := float64(source.Uint64()>>11+1) / (1 << 53) // in (0, 1]
	return -math.Log(u)
}

// traced is a schedule from a trace.
type traced struct {
	trace      []time.Duration
	next, step int
	length     time.Duration
}

func (t *traced) Next() (time.Duration, bool) {
	if t.next >= len(t.trace) {
		return 0, false
	}
	due := t.trace[t.next]
	t.next += t.step
	return due, due < t.length
}

// Validate rejects impossible pauses.
func (t Think) Validate() error {
	if t.Mean < 0 {
		return fmt.Errorf("a think time of %s is negative", t.Mean)
	}
	return nil
}

// Draw draws one pause.
func (t Think) Draw(rng *rand.Rand) time.Duration {
	switch {
	case t.Exponential:
		return time.Duration(rng.ExpFloat64() * float64(t.Mean))
	case t.Uniform:
		return time.Duration(2 * rng.Float64() * float64(t.Mean))
	}
	return t.Mean
}
