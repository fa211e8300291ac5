package stat

import (
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"plimsoll/internal/effort"
)

// The rates that the methods promise are measured on generators of known truth:
// 2,000 repetitions with a fixed seed in the ordinary run, 40,000 with a seed that
// changes daily under PLIMSOLL_DEEP=1 (PLIMSOLL_SEED repeats a day).

const fastSeed = 20260101

// tier is the size of the simulations.
type tier struct {
	N    int
	seed uint64
	deep bool
}

func Simulations(t *testing.T) tier {
	t.Helper()
	t.Parallel()
	out := tier{N: 2000, seed: fastSeed}
	if os.Getenv("PLIMSOLL_DEEP") == "1" {
		out = tier{N: 40_000, seed: uint64(time.Now().Unix() / 86_400), deep: true}
	}
	if s := os.Getenv("PLIMSOLL_SEED"); s != "" {
		v, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatalf("PLIMSOLL_SEED: %v", err)
		}
		out.seed = v
	}
	if out.deep {
		t.Logf("PLIMSOLL_SEED=%d repeats this run", out.seed)
	}
	return out
}

// some are the first of several settings in fast tests, and otherwise all.
func some[T any](all ...T) []T {
	if effort.Full() {
		return all
	}
	return all[:1]
}

// Either picks the limit of the tier.
func (s tier) Either(fast, deep float64) float64 {
	if s.deep {
		return deep
	}
	return fast
}

// Nominal returns the accepted band of a rate of 5 %.
func (s tier) Nominal() (low, high float64) {
	return s.Either(0.034, 0.0464), s.Either(0.066, 0.0536)
}

// Within asserts that a measured rate lies in low..high. The bands of the deep
// tier are 3.3 standard errors wide and there are some hundred of them, so there
// a rate outside is measured once more on fresh draws before it counts.
func (s tier) Within(t *testing.T, what string, low, high float64, measure func(r *normal) float64) {
	t.Helper()
	v := measure(newNormal(s.seed))
	if (v < low || v > high) && s.deep {
		t.Logf("%s: %.4f, outside %.4f..%.4f, measured again", what, v, low, high)
		v = measure(newNormal(s.seed ^ 0xface))
	}
	if !(v >= low && v <= high) {
		t.Errorf("%s: %.4f, want %.4f..%.4f", what, v, low, high)
		return
	}
	t.Logf("%s: %.4f", what, v)
}

// Share returns how often yes is true in the tier's number of repetitions.
func (s tier) Share(yes func() bool) float64 {
	count := 0
	for range s.N {
		if yes() {
			count++
		}
	}
	return float64(count) / float64(s.N)
}

// shape is a kind of noise of one run around 0, with a standard deviation of about
// 1 except where the shape itself is wider.
type shape struct {
	name string
	draw func(r *normal) float64
}

func shapes() []shape {
	return []shape{
		{"normal", func(r *normal) float64 { return r.NormFloat64() }},
		{"student 3", func(r *normal) float64 {
			a, b, c := r.NormFloat64(), r.NormFloat64(), r.NormFloat64()
			return r.NormFloat64() / math.Sqrt((a*a+b*b+c*c)/3) / math.Sqrt(3)
		}},
		{"outlier runs", func(r *normal) float64 { // one run in ten is slow
			v := r.NormFloat64()
			if r.Float64() < 0.1 {
				v -= 6
			}
			return v
		}},
		{"bimodal", func(r *normal) float64 { // two modes 3 standard deviations apart
			v := r.NormFloat64()
			if r.Float64() < 0.5 {
				v += 3
			}
			return v
		}},
	}
}

// differences returns n log-ratios of two arms whose runs carry the noise times
// cv, with the effect, a log-ratio, planted.
func differences(r *normal, s shape, n int, cv, effect float64) []float64 {
	d := make([]float64, n)
	for i := range d {
		d[i] = effect + cv*(s.draw(r)-s.draw(r))
	}
	return d
}

// autoregressive returns n values of AR(1) noise of standard deviation 1.
func autoregressive(r *normal, n int, phi float64) []float64 {
	x := make([]float64, n)
	fresh := math.Sqrt(1 - phi*phi)
	for i := range x {
		if i == 0 {
			x[i] = r.NormFloat64()
			continue
		}
		x[i] = phi*x[i-1] + fresh*r.NormFloat64()
	}
	return x
}

// source returns uniform draws for tests of single functions.
func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

func Near(a, b, tolerance float64) bool {
	return a == b || math.Abs(a-b) <= tolerance || math.IsNaN(a) && math.IsNaN(b)
}
