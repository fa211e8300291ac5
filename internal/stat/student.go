package stat

import (
	"math"
	"sync/atomic"

	"gonum.org/v1/gonum/mathext"
)

// fewestDegrees is far below those of any sample; below it the incomplete beta function fails.
const fewestDegrees = 1e-3

// manyDegrees is where the expansion about the normal distribution takes over: the incomplete
// beta function loses digits there.
const manyDegrees = 1e5

// TQuantile returns the p quantile of Student's t with df degrees of freedom. df may be
// fractional (Welch) or infinite (the normal distribution). It is NaN outside 0 <= p <= 1 or
// for df below 0.001.
//
// Source: Student (1908); Abramowitz & Stegun 26.7.1, and 26.7.5 for many degrees of freedom.
func TQuantile(p, df float64) float64 {
	switch {
	case !(p >= 0 && p <= 1) || !(df >= fewestDegrees):
		return math.NaN()
	case p == 0:
		return math.Inf(-1)
	case p == 1:
		return math.Inf(1)
	case df > manyDegrees:
		z := mathext.NormalQuantile(p)
		return z + z*(z*z+1)/(4*df) + z*(5*z*z*z*z+16*z*z+3)/(96*df*df)
	case p < 0.5:
		return -cachedQuantile(p, df)
	case p > 0.5:
		return cachedQuantile(1-p, df)
	}
	return 0
}

// quantile is a cached quantile.
type quantile struct{ p, df, t float64 }

// quantiles caches recent results: a study needs few, of one level and the degrees of freedom
// of one design.
var quantiles [64]atomic.Pointer[quantile]

// cachedQuantile is upperQuantile with a cache.
func cachedQuantile(p, df float64) float64 {
	hash := (math.Float64bits(p)*31 + math.Float64bits(df)) * 0x9e3779b97f4a7c15 // Fibonacci hashing
	slot := &quantiles[hash>>58]
	if q := slot.Load(); q != nil && q.p == p && q.df == df {
		return q.t
	}
	q := &quantile{p, df, upperQuantile(p, df)}
	slot.Store(q)
	return q.t
}

// upperQuantile returns the value that Student's t exceeds with probability p, at most one
// half: Newton's method on the logarithm of the tail, within a bracket. The library's own
// inverse fails for some small p.
func upperQuantile(p, df float64) float64 {
	low, high := 0.0, 1.0
	for studentTail(high, df) > p {
		if low, high = high, 2*high; high > 1e150 { // its square would overflow
			return math.Inf(1)
		}
	}
	x := (low + high) / 2
	for range 200 {
		tail := studentTail(x, df)
		if tail > p {
			low = x
		} else {
			high = x
		}
		next := x + math.Log(tail/p)*tail/studentDensity(x, df)
		if !(next > low && next < high) {
			next = (low + high) / 2
		}
		if math.Abs(next-x) <= 1e-14*next {
			return next
		}
		x = next
	}
	return x
}

// TwoSided returns the two-sided p value of t with df degrees of freedom.
func TwoSided(t, df float64) float64 {
	return math.Min(1, 2*upperTail(math.Abs(t), df))
}

// upperTail returns the probability that Student's t with df degrees of freedom
// exceeds t.
func upperTail(t, df float64) float64 {
	switch {
	case math.IsNaN(t) || !(df >= fewestDegrees):
		return 1
	case math.IsInf(t, 1):
		return 0
	case math.IsInf(t, -1):
		return 1
	case df > manyDegrees:
		// Abramowitz & Stegun 26.7.8, with an error of the order of 1/df^2.
		return normalTail(t * (1 - 1/(4*df)) / math.Sqrt(1+t*t/(2*df)))
	}
	return studentTail(t, df)
}

// HalfWidth returns the half-width of the two-sided t interval at the given
// confidence level for a mean with standard error se.
func HalfWidth(se, df, level float64) float64 {
	if se == 0 {
		return 0
	}
	return TQuantile(0.5+level/2, df) * se
}
