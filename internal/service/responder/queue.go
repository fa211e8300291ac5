package responder

import (
	"math/rand/v2"
	"sync"
	"time"
)

// queue computes the departures of requests from a first-come, first-served station of
// several servers, in time since its origin. Departures follow from arrivals by arithmetic,
// so the model does not depend on the load of this machine.
type queue struct {
	Settings
	stall, period time.Duration // each period ends with a stall

	mu      sync.Mutex
	random  *rand.Rand
	service func() time.Duration // draws a service time
	free    []time.Duration      // when each server is free
	credit  tokenBucket          // nil: all requests are served
	allowed tokenBucket          // nil: no request fails
	pauses  pauses               // random stalls
}

func newQueue(s Settings, seed uint64) *queue {
	mean := float64(s.Service)
	random := rand.New(rand.NewPCG(seed, 0x5e41ce))
	q := &queue{Settings: s, random: random, stall: time.Duration(s.Stall), period: time.Duration(s.Period)}
	q.credit = tokenBucket{rate: float64(s.Sustained), most: max(1, float64(s.Burst))}
	q.allowed = tokenBucket{rate: float64(s.Reject), most: max(1, float64(s.Reject)*rejectBurst)}
	if s.Irregular {
		q.pauses = pauses{random: rand.New(rand.NewPCG(seed, 0x9a5e)), length: q.stall, gap: q.period - q.stall}
		q.stall = 0
	}
	switch s.Law {
	case "fixed":
		q.service = func() time.Duration { return time.Duration(mean) }
	case "exponential":
		q.service = func() time.Duration { return time.Duration(mean * random.ExpFloat64()) }
	}
	if q.service != nil {
		q.free = make([]time.Duration, s.Servers)
	}
	return q
}

// departure is the departure time of a request. Calls are in order of arrival.
func (q *queue) departure(arrival time.Duration) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	start := arrival
	first := q.first()
	work := time.Duration(0)
	if first >= 0 {
		start = max(arrival, q.free[first])
		work = time.Duration(q.speed(arrival) * float64(q.service()))
	}
	start = q.credit.take(start)
	end := q.advance(start, work)
	if first >= 0 {
		q.free[first] = end
	}
	if q.Tail > 0 && q.random.Float64() < float64(q.Tail) {
		end += time.Duration(q.TailDelay)
	}
	return end
}

// admit returns the departure time, and whether the request is rejected, which happens at
// once.
func (q *queue) admit(arrival time.Duration) (due time.Duration, refused bool) {
	if q.refuses(arrival) {
		return arrival, true
	}
	return q.departure(arrival), false
}

// first is the server that is free first; -1 without servers.
func (q *queue) first() int {
	first := -1
	for i, f := range q.free {
		if first < 0 || f < q.free[first] {
			first = i
		}
	}
	return first
}

// refuses reports whether a request that arrives now is rejected.
func (q *queue) refuses(arrival time.Duration) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.Queue > 0 {
		wait := q.free[q.first()] - arrival
		if float64(wait)*float64(q.Servers) > float64(q.Queue)*q.speed(arrival)*float64(q.Service) {
			return true
		}
	}
	return !q.allowed.spend(arrival)
}

// advance is the completion time of work that starts at an instant and pauses during
// stalls. Work of zero length also waits for the end of a stall.
func (q *queue) advance(start, work time.Duration) time.Duration {
	if q.pauses.length > 0 {
		return q.pauses.advance(start, work)
	}
	if q.stall == 0 {
		return start + work
	}
	up := q.period - q.stall
	round, phase := start/q.period, start%q.period
	if phase >= up {
		round, phase = round+1, 0
	}
	done := phase + work // in time that excludes stalls
	whole := done / up
	if whole > 0 && done%up == 0 && work > 0 {
		whole-- // it ends exactly at the start of a stall
	}
	return (round+whole)*q.period + done - whole*up
}
