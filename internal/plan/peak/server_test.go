package peak

import (
	"math"
	"math/rand/v2"
)

// server is a simulated system whose peak is known. It is asked for one probe after
// another and has its own noise.
type server struct {
	name  string
	truth func(probe int) float64 // the peak when the given probe runs
	serve func(r *rand.Rand, p Probe, probe int) Result
}

const limit = 0.020 // seconds, on p99

var limits = []Limit{{Name: "p99", Share: 0.99, Seconds: limit}}

// judge makes a result of a p99.
func judge(p Probe, p99 float64, overloaded bool) Result {
	r := Result{Rate: p.Rate, Achieved: p.Rate, Quantiles: []float64{p99}, Pass: p99 <= limit, Overloaded: overloaded}
	if !r.Pass {
		r.Reason = "p99"
	}
	return r
}

// speedNoise is by how much the speed of a server differs between probes.
const speedNoise = 0.01

// measured blurs a p99 as a probe of finite length does. For M/M/1 at 770 of 1000/s
// a probe of 30 s has a standard deviation of about 11.5 %, which TestTheBlur shows
// on queues simulated request by request; it grows like 1/(mu - rate).
func measured(r *rand.Rand, p99, free float64, p Probe) float64 {
	sd := math.Min(0.5, blur*230/free*math.Sqrt(30/p.Seconds))
	return p99 * math.Exp(sd*r.NormFloat64()-sd*sd/2) // its mean is right, as that of a queue is
}

const blur = 0.115

// single is M/M/1 with the given speed, 1/s, which may change from probe to probe.
func single(name string, speed func(probe int) float64) server {
	return server{
		name:  name,
		truth: func(i int) float64 { return speed(i) - math.Log(100)/limit },
		serve: func(r *rand.Rand, p Probe, i int) Result {
			mu := speed(i) * math.Exp(speedNoise*r.NormFloat64())
			if free := mu - p.Rate; free > 0.001*mu {
				return judge(p, measured(r, math.Log(100)/free, free, p), false)
			}
			return judge(p, 10, true)
		},
	}
}

func constant(v float64) func(int) float64 { return func(int) float64 { return v } }

// tail is the share of response times above t of M/M/c with c servers of speed mu.
// Source: Kleinrock, Queueing Systems I; Gross & Harris, section 2.3.
func tail(t, rate, mu float64, c int) float64 {
	a := rate / mu
	term, sum := 1.0, 0.0
	for k := range c {
		sum += term
		term *= a / float64(k+1)
	}
	wait := term * float64(c) / (float64(c) - a)
	wait /= sum + wait
	d := float64(c) - 1 - a
	if math.Abs(d) < 1e-9 {
		return math.Exp(-mu*t) * (1 + wait*mu*t)
	}
	return math.Exp(-mu*t) + wait*(math.Exp(-mu*t)-math.Exp(-mu*t*(1+d)))/d
}

func search(low, high float64, above func(float64) bool) float64 {
	for range 100 {
		if mid := (low + high) / 2; above(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return (low + high) / 2
}

// several is M/M/c.
func several(name string, mu float64, c int) server {
	p99 := func(rate, mu float64) float64 {
		return search(0, 100/(float64(c)*mu-rate)+100/mu, func(t float64) bool { return tail(t, rate, mu, c) < 0.01 })
	}
	peak := search(1, float64(c)*mu*0.9999, func(rate float64) bool { return p99(rate, mu) > limit })
	return server{
		name:  name,
		truth: constant(peak),
		serve: func(r *rand.Rand, p Probe, _ int) Result {
			speed := mu * math.Exp(speedNoise*r.NormFloat64())
			if free := float64(c)*speed - p.Rate; free > 0.001*mu {
				return judge(p, measured(r, p99(p.Rate, speed), free, p), false)
			}
			return judge(p, 10, true)
		},
	}
}

// cliff answers in 2 ms up to a rate that differs a little from probe to probe, and
// beyond it either queues for ever or takes a second.
func cliff(name string, overloaded bool) server {
	return server{
		name:  name,
		truth: constant(800),
		serve: func(r *rand.Rand, p Probe, _ int) Result {
			p99 := 0.002 * math.Exp(0.05*r.NormFloat64())
			if p.Rate > 800*math.Exp(speedNoise*r.NormFloat64()) {
				return judge(p, 500*p99, overloaded)
			}
			return judge(p, p99, false)
		},
	}
}

// refusing is M/M/1 that refuses operations above a rate below its peak.
func refusing(from float64) server {
	s := single("refusing", constant(1000))
	return server{name: s.name, truth: constant(from), serve: func(r *rand.Rand, p Probe, i int) Result {
		out := s.serve(r, p, i)
		if p.Rate > from*math.Exp(speedNoise*r.NormFloat64()) {
			out.Pass, out.Reason = false, "errors"
		}
		return out
	}}
}

// behind is a server with a generator that carries no more than a rate.
func behind(s server, most float64) server {
	inner := s.serve
	s.serve = func(r *rand.Rand, p Probe, i int) Result {
		if p.Rate > most {
			return Result{Rate: p.Rate, GeneratorLimited: true}
		}
		return inner(r, p, i)
	}
	return s
}

// run carries a search out and returns its answer and the number of the last probe.
func run(s *Search, v server, r *rand.Rand) (Answer, int) {
	i := 0
	for ; i < 1000; i++ {
		p, ok := s.Next()
		if !ok {
			break
		}
		s.Done(v.serve(r, p, i))
	}
	return s.Answer(), i
}
