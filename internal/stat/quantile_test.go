package stat

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// queue is a server with one line, exponential service at rate 1 and arrivals at
// the given load, on which the truth is known: times in it are exponential with
// rate 1-load.
type queue struct{ load float64 }

func (q queue) p99() float64 { return math.Log(100) / (1 - q.load) }

// p99Of returns the p99 of 20,000 successive requests in the queue, exact by
// Lindley's recursion from its steady state.
func (q queue) p99Of(r *normal) float64 {
	const requests = 20_000
	var slow []float64 // few enough to sort, and the p99 among them
	var wait float64
	if r.Float64() < q.load {
		wait = r.ExpFloat64() / (1 - q.load)
	}
	x := make([]float64, requests)
	for i := range x {
		x[i] = wait + r.ExpFloat64()
		wait = math.Max(0, x[i]-r.ExpFloat64()/q.load)
	}
	for least := q.p99() / 2; ; least /= 2 {
		slow = slow[:0]
		for _, v := range x {
			if v >= least {
				slow = append(slow, v)
			}
		}
		if rank := len(slow) - requests/100; rank >= 0 {
			slices.Sort(slow)
			return slow[rank]
		}
	}
}

// bank holds ln p99 of many runs, from which studies of eight runs are dealt.
type bank []float64

func (q queue) bank(s tier, r *normal) bank {
	out := make(bank, s.N/10)
	for i := range out {
		out[i] = math.Log(q.p99Of(r))
	}
	return out
}

// deal returns the logs of eight different runs.
func (b bank) deal(r *normal) []float64 {
	out := make([]float64, 0, 8)
	seen := map[int]bool{}
	for len(out) < 8 {
		if i := r.IntN(len(b)); !seen[i] {
			seen[i] = true
			out = append(out, b[i])
		}
	}
	return out
}

func TestLatencyIsComparedByRunNotByRequest(t *testing.T) {
	s := Simulations(t)
	r := newNormal(s.seed)
	for _, c := range []struct {
		load      float64
		low, high float64
	}{{0.5, 0.93, 0.98}, {0.8, 0.90, 0.97}} {
		q := queue{c.load}
		a, b := q.bank(s, r), q.bank(s, r)
		s.Within(t, fmt.Sprintf("load %g, t on eight runs", c.load), c.low, c.high, func(r *normal) float64 {
			return s.Share(func() bool {
				return PairedT(b.deal(r), 0.95).Interval().Contains(math.Log(q.p99()))
			})
		})
		// A server a quarter slower on the same arrivals in relation to its speed:
		// every time stretches by the same factor.
		s.Within(t, fmt.Sprintf("load %g, ratio of two systems", c.load), 0.90, 0.98, func(r *normal) float64 {
			return s.Share(func() bool {
				d, slower := b.deal(r), a.deal(r)
				for i := range d {
					d[i] = slower[i] + math.Log(1.25) - d[i]
				}
				return PairedT(d, 0.95).Interval().Contains(math.Log(1.25))
			})
		})
	}
}
