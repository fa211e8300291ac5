package sim

import "math"

// openLoop is a queue under a Poisson stream of operations, which come whether or
// not the servers keep up. Its waiting line is not kept: first come first
// served, only the oldest operation that has not begun must be known (Kiefer and
// Wolfowitz, On the theory of queues with many servers, 1955).
type openLoop struct {
	law     law
	rate    float64
	servers schedule // when each is free, and the operation that it serves
	next    float64  // arrival of the oldest operation that has not begun
	clock   float64
	usage
}

func newOpenLoop(l law, servers int, rate float64) *openLoop {
	q := &openLoop{law: l, rate: rate, servers: make(schedule, servers)}
	for i := range q.servers {
		q.servers[i] = event{0, none}
	}
	q.next = q.law.rng.ExpFloat64() / rate
	return q
}

// capacity is how many operations a second the servers can complete.
func (q *openLoop) capacity(p pace) float64 { return float64(len(q.servers)) / p.service }

// lag is how long the oldest operation that has not begun has been waiting; it
// is negative where none is.
func (q *openLoop) lag() float64 { return q.clock - q.next }

func (q *openLoop) expect(seconds float64, p pace) (operations, least float64) {
	offered := q.rate * (seconds + max(0, q.lag()))
	return min(offered, q.capacity(p)*seconds), turnover * float64(len(q.servers))
}

func (q *openLoop) advance(to float64, p pace, t *tally) {
	weight := float64(t.weight)
	for {
		free := q.servers[0]
		start := q.law.gate.ready(max(free.at, q.next))
		if start > to {
			break
		}
		if free.arrival != none {
			t.complete((free.at - free.arrival) * p.latency)
		}
		service := q.law.draw(p.service)
		q.law.gate.take(start, weight)
		end := q.law.gate.finish(start, service)
		q.busy += service * weight
		q.system += (end - q.next) * weight
		q.servers.replace(event{end, q.next})
		q.next += q.law.rng.ExpFloat64() / q.rate
	}
	for i := range q.servers {
		if s := &q.servers[i]; s.at <= to && s.arrival != none {
			t.complete((s.at - s.arrival) * p.latency)
			s.arrival = none
		}
	}
	q.clock = to
}

// patience is how many mean waits are put down to chance: of the operations that
// wait in M/M/c, exp(-patience) wait for longer.
const patience = 10

// skip lets the backlog of an overload grow, or go down, as a fluid does. A
// backlog that chance alone explains stays as it is.
func (q *openLoop) skip(by float64, p pace) {
	lag, capacity := q.lag(), q.capacity(p)
	switch change := by * (1 - capacity/q.rate); {
	case change > 0:
		lag += change
	case lag > 0:
		lag = max(lag+change, min(lag, patience/(capacity-q.rate)))
	}
	q.servers.shift(by)
	q.clock += by
	q.next = q.clock - lag
}

// use leaves out operations still to be served, and counts waiting ones.
func (q *openLoop) use() usage {
	u := q.usage
	for _, s := range q.servers {
		rest := max(0, s.at-q.clock)
		u.busy -= rest
		u.system -= rest
	}
	lag := max(0, q.lag())
	u.system += q.rate * math.Pow(lag, 2) / 2
	return u
}
