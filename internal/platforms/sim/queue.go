package sim

import (
	"math"
	"math/rand/v2"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
)

// most is how many operations are simulated one by one in an interval. Where
// more would complete, a stretch in the middle of the interval is simulated and
// each operation in it stands for weight of them; the rest of the interval is
// passed over, in which all goes on as it was. Rates, response times and the
// number in the system keep their means, and Little's law holds because rate
// and response times come from the same stretch. What is lost is data: an
// interval is as noisy as one in which no more than these had completed.
const most = 10000

// turnover is how many operations of each place in the system a stretch holds at
// least. Workers that pause alike go in step, and a stretch that began or ended
// between two of their steps would be off by one of so many.
const turnover = 16

// queue is c servers with one waiting line, first come first served.
type queue interface {
	// expect is about how many operations complete within seconds, and how many
	// a stretch must hold to be like the whole.
	expect(seconds float64, p pace) (operations, least float64)
	// advance simulates up to the instant.
	advance(to float64, p pace, t *tally)
	// skip advances over a time without change.
	skip(by float64, p pace)
	// use is the total usage of the servers so far.
	use() usage
}

// pace is how fast the servers are at an instant.
type pace struct {
	service float64 // mean service time in seconds
	latency float64 // factor on response times; the servers do not care
}

// usage is the usage of servers in the simulated time.
type usage struct {
	busy   float64 // seconds of all servers
	system float64 // seconds of all operations, waiting or in service
}

func newQueue(s Settings, d load.Demand, rng *rand.Rand, g *gate) queue {
	l := law{s.Service, rng, g}
	if d.Rate > 0 {
		servers := s.Servers
		if d.Concurrency > 0 {
			servers = min(servers, d.Concurrency)
		}
		return newOpenLoop(l, servers, d.Rate)
	}
	return newClosedLoop(l, s.Servers, max(1, d.Concurrency), d.Think.Seconds())
}

// serve runs the queue for an interval that begins at clock, and counts completions.
func (t *tally) serve(q queue, clock float64, length time.Duration, p pace) {
	seconds := length.Seconds()
	operations, least := q.expect(seconds, p)
	t.weight = int64(max(1, math.Ceil(operations/max(most, least))))
	if t.weight == 1 {
		q.advance(clock+seconds, p, t)
		return
	}
	stretch := seconds / float64(t.weight)
	around := (seconds - stretch) / 2
	q.skip(around, p)
	q.advance(clock+around+stretch, p, t)
	q.skip(seconds-around-stretch, p)
}

// law is the law of the service time, and of when servers work at all.
type law struct {
	name string
	rng  *rand.Rand
	gate *gate
}

// draw draws a service time with the given mean. The lognormal law has a
// coefficient of variation of 1.
func (l law) draw(mean float64) float64 {
	switch l.name {
	case "exponential":
		return mean * l.rng.ExpFloat64()
	case "lognormal":
		const variance = math.Ln2 // of the logarithm: exp(variance)-1 = 1
		return mean * math.Exp(math.Sqrt(variance)*l.rng.NormFloat64()-variance/2)
	}
	return mean
}

// tally counts the operations of an interval by class.
type tally struct {
	classes []load.Class
	samples []measure.Sample
	failing float64 // share of the operations that fail
	tail    float64 // share of the operations that take longer
	longer  float64 // seconds
	weight  int64   // operations that each one stands for
	rng     *rand.Rand
}

func (t *testbed) newTally(d load.Demand, rng *rand.Rand) *tally {
	out := &tally{
		classes: d.Classes, rng: rng, samples: make([]measure.Sample, 0, len(d.Classes)),
		failing: float64(t.Errors), tail: float64(t.Tail), longer: time.Duration(t.TailLatency).Seconds(),
	}
	if t.Reject > 0 && d.Rate > float64(t.Reject) {
		out.failing = max(out.failing, 1-float64(t.Reject)/d.Rate)
	}
	for _, c := range d.Classes {
		out.samples = append(out.samples, measure.Sample{Class: c.Name, Latency: measure.NewHistogram()})
	}
	return out
}

// complete counts an operation with its time in seconds.
func (t *tally) complete(seconds float64) {
	i := 0
	if len(t.classes) > 1 {
		u := t.rng.Float64()
		for i < len(t.classes)-1 && u >= t.classes[i].Share {
			u -= t.classes[i].Share
			i++
		}
	}
	s := &t.samples[i]
	if t.failing > 0 && t.rng.Float64() < t.failing {
		s.Errors += t.weight
		return
	}
	if t.tail > 0 && t.rng.Float64() < t.tail {
		seconds += t.longer
	}
	response := time.Duration(seconds * 1e9)
	s.Operations += t.weight
	s.Bytes += t.weight * t.classes[i].Bytes
	s.Total += response * time.Duration(t.weight)
	s.Latency.Record(response, t.weight)
}
