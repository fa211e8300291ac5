package claim

import "math"

// span is an interval of numbers.
type span struct{ low, high float64 }

func (s span) times(k float64) span {
	if k < 0 {
		return span{low: s.high * k, high: s.low * k}
	}
	return span{low: s.low * k, high: s.high * k}
}

func (s span) plus(t span) span  { return span{low: s.low + t.low, high: s.high + t.high} }
func (s span) minus(t span) span { return span{low: s.low - t.high, high: s.high - t.low} }

// over is the quotient of two positive intervals; ok is false where the divisor may
// be 0.
func (s span) over(t span) (span, bool) {
	if !(t.low > 0) || s.low < 0 {
		return span{}, false
	}
	q := span{low: s.low / t.high, high: s.high / t.low}
	return q, !math.IsInf(q.high, 0) && !math.IsNaN(q.low)
}

func (s span) product(t span) span { return span{low: s.low * t.low, high: s.high * t.high} }

// meets tells whether two intervals have a number in common, but for the errors of
// arithmetic.
func (s span) meets(t span) bool {
	slack := 1e-9 * (1 + max(math.Abs(s.low), math.Abs(s.high)))
	return s.low <= t.high+slack && t.low <= s.high+slack
}

func (s span) middle() float64 { return (s.low + s.high) / 2 }
