package pace

import (
	"math/rand/v2"
	"time"

	"plimsoll/internal/measure"
)

// Waits adds the wait for a worker to response times: fio measures them from the start of an operation, and an operation that is due while its worker performs
// another one starts late. Arrivals do not depend on the worker, so that as many are due in the course of an operation as in any other time of its length, at
// instants that are uniform in it (Wolff, Poisson Arrivals See Time Averages, 1982). One that finds others waiting waits for these as well: on average, a
// geometric number of residual times (Pollaczek-Khinchine formula). Operations that waited are those that complete next.
type Waits struct {
	arrivals [2][2]float64 // of a direction, at the worker of an operation of a direction, 1/s
	due      [2]float64    // arrivals at busy workers, less those in pending
	pending  [2][]time.Duration
	waited   [2]float64 // operations that waited
	all      [2]float64
	random   *rand.Rand
}

const (
	mostPending = 1 << 18 // operations that wait: with more, none is in time
	mostAhead   = 16      // operations ahead of one that waits, beyond which the load is overload
)

// The directions.
const (
	read = iota
	write
)

// NewWaits is for a load by such workers. Its random choices follow from the seed.
func NewWaits(disks [][]Group, seed uint64) *Waits {
	w := &Waits{random: rand.New(rand.NewPCG(seed, 1))}
	rates := [2]func(Group) float64{Group.reads, Group.writes}
	for of, rate := range rates {
		for at, other := range rates {
			if all := Sum(disks, rate); all > 0 {
				w.arrivals[of][at] = Sum(disks, func(g Group) float64 { return rate(g) * other(g) }) / all
			}
		}
	}
	return w
}

// Add adds the waits to the samples of an interval, whose response times are from the start of each operation. Those become its service times.
func (w *Waits) Add(samples []measure.Sample) {
	for i := range samples {
		w.busy(&samples[i])
	}
	for i := range samples {
		w.wait(&samples[i])
	}
}

func directionOf(class string) int {
	if class == "write" {
		return write
	}
	return read
}

// busy has operations wait for those of a sample.
func (w *Waits) busy(s *measure.Sample) {
	of := directionOf(s.Class)
	for _, bar := range s.Latency.Bars() {
		length := bar.From + (bar.To-bar.From)/2
		for at := range w.pending {
			w.due[at] += float64(bar.Count) * length.Seconds() * w.arrivals[of][at]
			for ; w.due[at] >= 1; w.due[at]-- {
				if len(w.pending[at]) < mostPending {
					w.pending[at] = append(w.pending[at], time.Duration(w.random.Float64()*float64(length)))
				}
			}
		}
	}
}

// wait has operations of a sample wait.
func (w *Waits) wait(s *measure.Sample) {
	at := directionOf(s.Class)
	n := min(int64(len(w.pending[at])), s.Operations)
	w.waited[at] += float64(n)
	w.all[at] += float64(s.Operations)
	left, late := s.Latency.Bars(), measure.NewHistogram()
	for k := range n {
		wait := w.pending[at][k]
		for range mostAhead {
			if w.random.Float64() >= w.waited[at]/w.all[at] {
				break
			}
			wait += w.pending[at][w.random.IntN(len(w.pending[at]))]
		}
		late.Record(wait+take(left, w.random.Int64N(s.Operations-k)), 1)
		s.Total += wait
	}
	w.pending[at] = w.pending[at][n:]
	for _, bar := range left {
		if bar.Count > 0 {
			late.Record(bar.From+(bar.To-bar.From)/2, bar.Count)
		}
	}
	s.Service, s.Latency = s.Latency, late
}

// take takes the n-th operation that is left out of the bars.
func take(left []measure.Bar, n int64) time.Duration {
	for i := range left {
		if n < left[i].Count {
			left[i].Count--
			return left[i].From + (left[i].To-left[i].From)/2
		}
		n -= left[i].Count
	}
	return 0
}
