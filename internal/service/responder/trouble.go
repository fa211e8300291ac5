package responder

import (
	"math"
	"math/rand/v2"
	"time"
)

const (
	rejectBurst = .1 // burst of requests, in seconds, before some are rejected
	coldFactor  = 3. // share by which a cold server is slower than a warm one
)

// tokenBucket is a bucket of tokens, of which each request takes one (the generic cell rate
// algorithm of ITU-T I.371).
type tokenBucket struct {
	rate, most float64       // refill rate per second, and capacity; a rate of 0 is no bucket
	full       time.Duration // instant at which the bucket is full
}

// token is the refill time of a token.
func (c *tokenBucket) token() time.Duration { return time.Duration(float64(time.Second) / c.rate) }

// ready is the earliest instant with a token.
func (c *tokenBucket) ready(at time.Duration) time.Duration {
	return max(at, c.full-time.Duration((c.most-1)/c.rate*float64(time.Second)))
}

// take waits for a token and takes it.
func (c *tokenBucket) take(at time.Duration) time.Duration {
	if c.rate == 0 {
		return at
	}
	at = c.ready(at)
	c.full = max(c.full, at) + c.token()
	return at
}

// spend takes a token if there is one.
func (c *tokenBucket) spend(at time.Duration) bool {
	if c.rate == 0 {
		return true
	}
	if c.ready(at) > at {
		return false
	}
	c.take(at)
	return true
}

// pauses are random stalls.
type pauses struct {
	random      *rand.Rand
	length, gap time.Duration // of a stall, and mean time between stalls
	begin       []time.Duration
}

// advance is the completion time of work that starts at an instant.
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

// speed is the factor on service times at an instant.
func (q *queue) speed(at time.Duration) float64 {
	speed := 1 + q.Slowing*at.Minutes()
	if q.Cold > 0 {
		speed *= 1 + coldFactor*math.Exp(-at.Seconds()/time.Duration(q.Cold).Seconds())
	}
	return speed
}
