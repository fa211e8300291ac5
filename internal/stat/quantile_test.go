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

// times returns the sorted times that 20,000 successive requests spent in the
// queue, exact by Lindley's recursion from its steady state.
func (q queue) times(r *normal) []float64 {
	x := make([]float64, 20_000)
	var wait float64
	if r.Float64() < q.load {
		wait = r.ExpFloat64() / (1 - q.load)
	}
	for i := range x {
		x[i] = wait + r.ExpFloat64()
		wait = math.Max(0, x[i]-r.ExpFloat64()/q.load)
	}
	slices.Sort(x)
	return x
}

// bank holds ln p99 of many runs, from which studies of eight runs are dealt, and
// how often the order-statistic interval on a single run covered.
type bank struct {
	logs   []float64
	single float64
}

func (q queue) bank(s tier, r *normal) bank {
	out := bank{logs: make([]float64, s.n/10)}
	for i := range out.logs {
		x := q.times(r)
		out.logs[i] = math.Log(Quantile(x, 0.99))
		if low, high, ok := QuantileInterval(x, 0.99, 0.95); ok && low <= q.p99() && q.p99() <= high {
			out.single += 1 / float64(len(out.logs))
		}
	}
	return out
}

// deal returns the logs of eight different runs.
func (b bank) deal(r *normal) []float64 {
	out := make([]float64, 0, 8)
	seen := map[int]bool{}
	for len(out) < 8 {
		if i := r.IntN(len(b.logs)); !seen[i] {
			seen[i] = true
			out = append(out, b.logs[i])
		}
	}
	return out
}

func TestLatencyIsComparedByRunNotByRequest(t *testing.T) {
	s := simulations(t)
	r := newNormal(s.seed)
	for _, c := range []struct {
		load          float64
		single, eight [2]float64
	}{
		{0.5, [2]float64{0.38, 0.58}, [2]float64{0.93, 0.98}},
		{0.8, [2]float64{0.05, 0.20}, [2]float64{0.90, 0.97}},
	} {
		q := queue{c.load}
		a, b := q.bank(s, r), q.bank(s, r)
		s.within(t, fmt.Sprintf("load %g, order statistics of one run", c.load), c.single[0], c.single[1],
			func(*normal) float64 { return (a.single + b.single) / 2 })
		s.within(t, fmt.Sprintf("load %g, t on eight runs", c.load), c.eight[0], c.eight[1], func(r *normal) float64 {
			return s.share(func() bool {
				return PairedT(b.deal(r), 0.95).Interval().Contains(math.Log(q.p99()))
			})
		})
		// A server a quarter slower on the same arrivals in relation to its speed:
		// every time stretches by the same factor.
		s.within(t, fmt.Sprintf("load %g, ratio of two systems", c.load), 0.90, 0.98, func(r *normal) float64 {
			return s.share(func() bool {
				d, slower := b.deal(r), a.deal(r)
				for i := range d {
					d[i] = slower[i] + math.Log(1.25) - d[i]
				}
				return PairedT(d, 0.95).Interval().Contains(math.Log(1.25))
			})
		})
	}
}

func TestOrderStatisticsCoverOnIndependentValues(t *testing.T) {
	s := simulations(t)
	for _, c := range []struct {
		n         int
		q         float64
		low, high float64
	}{{50, 0.5, 0.94, 0.985}, {400, 0.99, 0.95, 0.999}, {1000, 0.99, 0.94, 0.985}} {
		s.within(t, fmt.Sprintf("n %d, q %g", c.n, c.q), c.low, c.high, func(r *normal) float64 {
			x := make([]float64, c.n)
			return s.share(func() bool {
				for i := range x {
					x[i] = r.ExpFloat64()
				}
				slices.Sort(x)
				low, high, ok := QuantileInterval(x, c.q, 0.95)
				truth := -math.Log(1 - c.q)
				return ok && low <= truth && truth <= high
			})
		})
	}
}

func TestHarrellDavisIsCloserThanOneOrderStatistic(t *testing.T) {
	s := simulations(t)
	truth := math.Log(2)
	s.within(t, "mean squared error over that of the sample quantile, median of 50", 0.80, 0.99, func(r *normal) float64 {
		var one, all float64
		x := make([]float64, 50)
		for range s.n {
			for i := range x {
				x[i] = r.ExpFloat64()
			}
			all += math.Pow(HarrellDavis(x, 0.5)-truth, 2)
			slices.Sort(x)
			one += math.Pow(Quantile(x, 0.5)-truth, 2)
		}
		return all / one
	})
}

func TestQuantile(t *testing.T) {
	x := []float64{1, 2, 4, 8}
	for _, c := range []struct{ q, want float64 }{
		{0, 1}, {1, 8}, {0.5, 3}, {1.0 / 3, 2}, {0.25, 1.75}, {0.9, 6.8}, {-0.1, math.NaN()}, {1.1, math.NaN()}, {math.NaN(), math.NaN()},
	} {
		if got := Quantile(x, c.q); !near(got, c.want, 1e-12) {
			t.Errorf("Quantile(%g) = %g, want %g", c.q, got, c.want)
		}
	}
	if got := Quantile(nil, 0.5); !math.IsNaN(got) {
		t.Errorf("of nothing: %g", got)
	}
	if got := Quantile([]float64{7}, 0.3); got != 7 {
		t.Errorf("of one value: %g", got)
	}
}

func TestQuantileIntervalNeedsEnoughValues(t *testing.T) {
	for _, c := range []struct {
		n  int
		q  float64
		ok bool
	}{
		{367, 0.99, false}, {368, 0.99, true},
		{3687, 0.999, false}, {3688, 0.999, true},
		{367, 0.01, false}, {368, 0.01, true},
		{5, 0.5, false}, {6, 0.5, true},
		{0, 0.5, false}, {100, 0, false}, {100, 1, false}, {100, math.NaN(), false},
	} {
		x := make([]float64, c.n)
		for i := range x {
			x[i] = float64(i)
		}
		low, high, ok := QuantileInterval(x, c.q, 0.95)
		if ok != c.ok || ok && !(low < high) {
			t.Errorf("n %d, q %g: %g..%g, %t", c.n, c.q, low, high, ok)
		}
	}
}

func TestHarrellDavis(t *testing.T) {
	// Three values at the median: weights I(1/3; 2, 2) = 7/27, 13/27, 7/27.
	if got, want := HarrellDavis([]float64{9, 0, 3}, 0.5), (3.0*13+9*7)/27; !near(got, want, 1e-12) {
		t.Errorf("got %g, want %g", got, want)
	}
	x := []float64{5, 1, 3}
	for _, c := range []struct{ q, want float64 }{{0, 1}, {1, 5}, {0.5, 3}, {2, math.NaN()}} {
		if got := HarrellDavis(x, c.q); !near(got, c.want, 1e-12) {
			t.Errorf("HarrellDavis(%g) = %g, want %g", c.q, got, c.want)
		}
	}
	if x[0] != 5 {
		t.Error("the argument was sorted in place")
	}
	if got := HarrellDavis(nil, 0.5); !math.IsNaN(got) {
		t.Errorf("of nothing: %g", got)
	}
	r := newNormal(5)
	y := make([]float64, 101)
	for i := range y {
		y[i] = r.ExpFloat64()
	}
	last := math.Inf(-1)
	for q := 0.01; q < 1; q += 0.01 {
		v := HarrellDavis(y, q)
		if v < last {
			t.Fatalf("falls at q = %g", q)
		}
		last = v
	}
}
