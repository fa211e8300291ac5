package responder

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"plimsoll/internal/parameter"
)

// sojourns are the times in the system of Poisson arrivals at a rate per second.
func sojourns(s Settings, rate float64, n int) []time.Duration {
	q := newQueue(s, 3)
	random := rand.New(rand.NewPCG(5, 6))
	at, times := 0.0, make([]time.Duration, n)
	for i := range times {
		at += random.ExpFloat64() / rate
		arrival := time.Duration(at * float64(time.Second))
		times[i] = q.departure(arrival) - arrival
	}
	slices.Sort(times)
	return times
}

// erlangC is the probability that a customer of M/M/c waits, at an offered load of
// a erlangs (Erlang 1917).
func erlangC(c int, a float64) float64 {
	term, sum := 1.0, 0.0
	for k := range c {
		if k > 0 {
			term *= a / float64(k)
		}
		sum += term
	}
	last := term * a / float64(c) / (1 - a/float64(c))
	return last / (sum + last)
}

// beyond is the probability that the sojourn time of M/M/c exceeds t, where mu is the rate of
// one server and a the offered load. The service time is exponential. The wait is exponential
// at c*mu - lambda with the probability of Erlang C, and 0 otherwise.
func beyond(t, mu, a float64, c int) float64 {
	wait := erlangC(c, a)
	theta := float64(c)*mu - a*mu
	if math.Abs(theta-mu) < 1e-9*mu {
		return math.Exp(-mu*t) * (1 + wait*mu*t)
	}
	return (1-wait)*math.Exp(-mu*t) + wait*(theta*math.Exp(-mu*t)-mu*math.Exp(-theta*t))/(theta-mu)
}

func TestSojournsAreThoseOfTheory(t *testing.T) {
	const mu, n = 1000.0, 400_000
	for _, c := range []struct {
		servers int
		load    float64 // per server
	}{{1, .3}, {1, .5}, {1, .7}, {2, .5}, {4, .7}, {16, .8}} {
		s := Settings{Law: "exponential", Service: parameter.Duration(time.Millisecond), Servers: c.servers}
		times := sojourns(s, mu*c.load*float64(c.servers), n)
		for q, tolerance := range map[float64]float64{.5: .02, .9: .03, .99: .05, .999: .1} {
			got, want := times[int(q*n)].Seconds(), quantile(q, mu, c.load*float64(c.servers), c.servers)
			if math.Abs(got/want-1) > tolerance {
				t.Errorf("M/M/%d at %g: the %g quantile is %.6f s, and %.6f s by theory", c.servers, c.load, q, got, want)
			}
		}
	}
}

// quantile inverts beyond.
func quantile(q, mu, a float64, c int) float64 {
	low, high := 0.0, 1000/mu
	for range 60 {
		if middle := (low + high) / 2; beyond(middle, mu, a, c) > 1-q {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// By Pollaczek-Khinchine, the mean wait of M/D/1 is half that of M/M/1.
func TestFixedServiceTimes(t *testing.T) {
	s := Settings{Law: "fixed", Service: parameter.Duration(time.Millisecond), Servers: 1}
	sum := time.Duration(0)
	times := sojourns(s, 600, 400_000)
	for _, x := range times {
		sum += x
	}
	mean := sum.Seconds() / float64(len(times)) * 1000
	if want := 1 + .6/(2*(1-.6)); math.Abs(mean/want-1) > .02 {
		t.Errorf("the mean of M/D/1 at 0.6 is %.3f ms, not %.3f", mean, want)
	}
	if times[0] != time.Millisecond {
		t.Errorf("the shortest is %s", times[0])
	}
}

func TestStalls(t *testing.T) {
	const ms = time.Millisecond
	q := newQueue(Settings{Law: "none", Stall: parameter.Duration(100 * ms), Period: parameter.Duration(1000 * ms)}, 1)
	for at, want := range map[time.Duration]time.Duration{
		0: 0, 899 * ms: 899 * ms, 900 * ms: 1000 * ms, 950 * ms: 1000 * ms, 1000 * ms: 1000 * ms, 5901 * ms: 6000 * ms,
	} {
		if got := q.departure(at); got != want {
			t.Errorf("arrived at %s, left at %s, want %s", at, got, want)
		}
	}
	work := newQueue(Settings{Law: "fixed", Servers: 1, Service: parameter.Duration(250 * ms), Stall: parameter.Duration(100 * ms), Period: parameter.Duration(200 * ms)}, 1)
	// 250 ms of work take 100 ms in each of two periods, and 50 ms in a third.
	if got := work.departure(0); got != 450*ms {
		t.Errorf("250 ms of work in halves of 200 ms end at %s", got)
	}
	if got := work.departure(0); got != 900*ms {
		t.Errorf("500 ms of work in halves of 200 ms end at %s, not with the last instant before a stall", got)
	}
}

// For any arrivals, no request departs early or during a stall.
func FuzzDepartures(f *testing.F) {
	f.Add(uint64(1), uint64(30), uint64(10), uint64(100), uint64(3))
	f.Fuzz(func(t *testing.T, seed, service, stall, period, servers uint64) {
		s := Settings{
			Law: "fixed", Service: parameter.Duration(1 + service%1e9), Servers: int(1 + servers%8),
			Period: parameter.Duration(2 + period%1e9),
		}
		s.Stall = parameter.Duration(1 + stall%uint64(s.Period-1))
		q := newQueue(s, seed)
		random := rand.New(rand.NewPCG(seed, 1))
		at := time.Duration(0)
		for range 20 {
			at += time.Duration(random.Uint64N(2e9))
			done := q.departure(at)
			if done < at+time.Duration(s.Service) {
				t.Errorf("arrived at %d, served %d, left at %d", at, s.Service, done)
			}
			if phase := done % q.period; phase > q.period-q.stall {
				t.Errorf("it left at %d, in a stall of %d of each %d", done, q.stall, q.period)
			}
		}
	})
}
