package sim

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
)

// most is how many operations are simulated one by one in an interval. Where
// the servers complete more, a shorter stretch of the interval is simulated and
// each operation in it stands for several: rates, response times and the number
// in the system keep their means, and Little's law holds within the stretch.
const most = 1500

// queue is c servers with one waiting line, first come first served, under a
// closed population with think time or a Poisson stream of arrivals.
type queue struct {
	Settings
	demand  load.Demand
	rng     *rand.Rand
	clock   float64   // virtual seconds
	waiting []float64 // arrival instants, oldest first
	events  events
	idle    int
	// what was seen, for the counters
	busySeconds, systemSeconds, seconds float64
}

// event is something that will happen at an instant.
type event struct {
	at      float64
	arrival float64 // of the operation that completes then; NaN for an arrival
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	old := *e
	last := old[len(old)-1]
	*e = old[:len(old)-1]
	return last
}

func newQueue(s Settings, d load.Demand, rng *rand.Rand) *queue {
	q := &queue{Settings: s, demand: d, rng: rng, idle: s.Servers}
	if d.Rate > 0 {
		q.schedule(q.rng.ExpFloat64() / d.Rate)
		return q
	}
	for range max(1, d.Concurrency) {
		q.schedule(0)
	}
	return q
}

func (q *queue) schedule(at float64) { heap.Push(&q.events, event{at, math.NaN()}) }

// serve runs the queue for an interval with servers of the given speed, and
// returns what completed.
func (q *queue) serve(length time.Duration, speed, latency float64) []measure.Sample {
	mean := float64(q.Servers) / (float64(q.Capacity) * speed)
	expected := float64(q.Capacity) * speed * length.Seconds()
	if q.demand.Rate > 0 {
		expected = min(expected, q.demand.Rate*length.Seconds())
	} else {
		think := q.demand.Think.Seconds()
		expected = min(expected, float64(max(1, q.demand.Concurrency))*length.Seconds()/(mean+think))
	}
	weight := max(1, math.Ceil(expected/most))
	stretch := length.Seconds() / weight
	end := q.clock + stretch
	tally := newTally(q.demand.Classes, int64(weight))
	for len(q.events) > 0 && q.events[0].at <= end {
		e := heap.Pop(&q.events).(event)
		q.pass(e.at)
		if math.IsNaN(e.arrival) {
			q.arrive(e.at, mean)
		} else {
			q.leave(e, mean, latency, tally)
		}
	}
	q.pass(end)
	return tally.samples
}

// pass lets time go by.
func (q *queue) pass(to float64) {
	dt := to - q.clock
	busy := float64(q.Servers - q.idle)
	q.busySeconds += busy * dt
	q.systemSeconds += (busy + float64(len(q.waiting))) * dt
	q.seconds += dt
	q.clock = to
}

func (q *queue) arrive(now, mean float64) {
	if q.demand.Rate > 0 {
		q.schedule(now + q.rng.ExpFloat64()/q.demand.Rate)
	}
	q.waiting = append(q.waiting, now)
	if q.idle > 0 {
		q.idle--
		q.start(now, mean)
	}
}

// start gives the oldest operation that waits to a server.
func (q *queue) start(now, mean float64) {
	arrival := q.waiting[0]
	q.waiting = q.waiting[1:]
	heap.Push(&q.events, event{now + q.service(mean), arrival})
}

func (q *queue) leave(e event, mean, latency float64, t *tally) {
	t.complete(time.Duration((e.at-e.arrival)*latency*1e9), q.rng, float64(q.Errors))
	if q.demand.Rate == 0 {
		pause := q.demand.Think.Seconds()
		// A planted latency keeps the operation from its worker for longer,
		// while the server is free.
		q.schedule(e.at + pause + (latency-1)*(e.at-e.arrival))
	}
	if len(q.waiting) > 0 {
		q.start(e.at, mean)
	} else {
		q.idle++
	}
}

// service draws a service time with the given mean. The lognormal law has a
// coefficient of variation of 1.
func (q *queue) service(mean float64) float64 {
	switch q.Service {
	case "deterministic":
		return mean
	case "lognormal":
		sigma := math.Sqrt(math.Ln2)
		return mean * math.Exp(sigma*q.rng.NormFloat64()-sigma*sigma/2)
	}
	return mean * q.rng.ExpFloat64()
}

// utilisation is the mean share of the servers that was busy.
func (q *queue) utilisation() float64 {
	if q.seconds == 0 {
		return 0
	}
	return q.busySeconds / q.seconds / float64(q.Servers)
}

// inSystem is the mean number of operations waiting or in service.
func (q *queue) inSystem() float64 {
	if q.seconds == 0 {
		return 0
	}
	return q.systemSeconds / q.seconds
}

// tally counts the operations of an interval by class.
type tally struct {
	classes []load.Class
	samples []measure.Sample
	weight  int64
}

func newTally(classes []load.Class, weight int64) *tally {
	t := &tally{classes: classes, weight: weight}
	for _, c := range classes {
		t.samples = append(t.samples, measure.Sample{Class: c.Name, Latency: measure.NewHistogram()})
	}
	return t
}

func (t *tally) complete(response time.Duration, rng *rand.Rand, errors float64) {
	i, u := 0, rng.Float64()
	for i < len(t.classes)-1 && u >= t.classes[i].Share {
		u -= t.classes[i].Share
		i++
	}
	s := &t.samples[i]
	if errors > 0 && rng.Float64() < errors {
		s.Errors += t.weight
		return
	}
	s.Operations += t.weight
	s.Bytes += t.weight * t.classes[i].Bytes
	s.Total += response * time.Duration(t.weight)
	s.Latency.Record(response, t.weight)
}
