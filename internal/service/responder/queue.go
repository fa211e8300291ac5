package responder

import (
	"math/rand/v2"
	"sync"
	"time"
)

// queue says when requests leave a station of several servers that serves first
// come first served, in the time since its origin. Nobody occupies a server: the
// departures follow from the arrivals by arithmetic, so that the truth does not
// depend on how busy this machine is.
type queue struct {
	stall, period time.Duration // the last part of each period is a stall

	mu      sync.Mutex
	service func() time.Duration // draws a service time
	free    []time.Duration      // when each server is free
}

func newQueue(s Settings, seed uint64) *queue {
	mean := float64(s.Service)
	random := rand.New(rand.NewPCG(seed, 0x5e41ce))
	q := &queue{stall: time.Duration(s.Stall), period: time.Duration(s.Period)}
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

// departure is when a request leaves that arrived at an instant. Arrivals come in
// the order of the calls.
func (q *queue) departure(arrival time.Duration) time.Duration {
	if q.service == nil {
		return q.advance(arrival, 0)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	first := 0
	for i, f := range q.free {
		if f < q.free[first] {
			first = i
		}
	}
	q.free[first] = q.advance(max(arrival, q.free[first]), q.service())
	return q.free[first]
}

// advance is when work that starts at an instant is done, if none is done in a
// stall. Even work of no length waits for the end of a stall.
func (q *queue) advance(start, work time.Duration) time.Duration {
	if q.stall == 0 {
		return start + work
	}
	up := q.period - q.stall
	round, phase := start/q.period, start%q.period
	if phase >= up {
		round, phase = round+1, 0
	}
	done := phase + work // in time that runs only between stalls
	whole := done / up
	if whole > 0 && done%up == 0 && work > 0 {
		whole-- // it ends with the very last instant before a stall
	}
	return (round+whole)*q.period + done - whole*up
}
