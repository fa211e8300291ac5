package responder

import (
	"math"
	"math/rand/v2"
	"time"
)

const (
	rejectBurst = .1 // seconds of requests that may come at once before some are refused
	coldFactor  = 3. // by which the service of a cold server takes longer, more than that of a warm one
)

// credit is a bucket of tokens, of which each request takes one (the generic cell rate
// algorithm of ITU-T I.371).
type credit struct {
	rate, most float64       // tokens that come back a second, and the most there are; a rate of 0 is no bucket
	full       time.Duration // instant at which all are there again
}

// token is how long a token takes to come back.
func (c *credit) token() time.Duration { return time.Duration(float64(time.Second) / c.rate) }

// ready is the earliest instant from the given one at which there is a token.
func (c *credit) ready(at time.Duration) time.Duration {
	return max(at, c.full-time.Duration((c.most-1)/c.rate*float64(time.Second)))
}

// take waits for a token and takes it.
func (c *credit) take(at time.Duration) time.Duration {
	if c.rate == 0 {
		return at
	}
	at = c.ready(at)
	c.full = max(c.full, at) + c.token()
	return at
}

// spend takes a token if there is one.
func (c *credit) spend(at time.Duration) bool {
	if c.rate == 0 {
		return true
	}
	if c.ready(at) > at {
		return false
	}
	c.take(at)
	return true
}

// pauses are stalls at random.
type pauses struct {
	random      *rand.Rand
	length, gap time.Duration // of a stall, and from its end to the next on average
	begin       []time.Duration
}

// advance is when work that starts at an instant is done.
func (p *pauses) advance(start, work time.Duration) time.Duration {
	for i := 0; ; i++ {
		if i == len(p.begin) {
			from := time.Duration(0)
			if i > 0 {
				from = p.begin[i-1] + p.length
			}
			p.begin = append(p.begin, from+time.Duration(float64(p.gap)*p.random.ExpFloat64()))
		}
		begin := p.begin[i]
		switch {
		case start >= begin+p.length: // it is over
		case start >= begin:
			start = begin + p.length
		case start+work <= begin:
			return start + work
		default:
			work -= begin - start
			start = begin + p.length
		}
	}
}

// speed is by how much service takes longer than its mean at an instant.
func (q *queue) speed(at time.Duration) float64 {
	speed := 1 + q.Slowing*at.Minutes()
	if q.Cold > 0 {
		speed *= 1 + coldFactor*math.Exp(-at.Seconds()/time.Duration(q.Cold).Seconds())
	}
	return speed
}
