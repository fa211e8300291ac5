package load

import "time"

// Arrivals says at which instants an open loop offers its operations. It is
// text in a study (see ParseArrivals), and a pure function of the stage's origin
// and seed.
type Arrivals struct {
	Rate    float64 // operations per second at the origin; 0 is a closed loop
	Poisson bool    // independent arrivals at the rate instead of even ones
	Shape   Shape   // how the rate changes; nil leaves it as it is
	Trace   []time.Duration // instants from a file, instead of a rate
}

// Shape is a rate that changes over a stage.
type Shape interface {
	// Expected is how many operations are due before t, from a rate of 1/s at
	// the origin: the integral of the rate. It never falls.
	Expected(t time.Duration) float64
	// At is the inverse of Expected: the instant at which n operations were due.
	At(n float64) time.Duration
	// String is the text that ParseShape reads.
	String() string
}

// Schedule gives the due times of the operations of one worker, since the
// origin of the stage. They never fall.
type Schedule interface {
	// Next is the next due time; ok is false when there is none.
	Next() (due time.Duration, ok bool)
}

// Shard is one of several workers or hosts that share a schedule: number Index
// of Count. It takes operation i of the whole schedule when i mod Count is
// Index, so that the shards together are the schedule and never beat in phase.
type Shard struct{ Index, Count int }
