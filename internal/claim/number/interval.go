package number

import "math"

// Span is an interval of numbers.
type Span struct{ Low, High float64 }

// Times scales an interval.
func (s Span) Times(k float64) Span {
	if k < 0 {
		return Span{Low: s.High * k, High: s.Low * k}
	}
	return Span{Low: s.Low * k, High: s.High * k}
}

// Plus adds two intervals.
func (s Span) Plus(t Span) Span { return Span{Low: s.Low + t.Low, High: s.High + t.High} }

// Minus subtracts an interval.
func (s Span) Minus(t Span) Span { return Span{Low: s.Low - t.High, High: s.High - t.Low} }

// Over is the quotient of two positive intervals; ok is false if the divisor may be 0.
func (s Span) Over(t Span) (Span, bool) {
	if !(t.Low > 0) || s.Low < 0 {
		return Span{}, false
	}
	q := Span{Low: s.Low / t.High, High: s.High / t.Low}
	return q, !math.IsInf(q.High, 0) && !math.IsNaN(q.Low)
}

// Product multiplies two intervals.
func (s Span) Product(t Span) Span { return Span{Low: s.Low * t.Low, High: s.High * t.High} }

// Meets reports whether two intervals intersect, allowing for rounding errors.
func (s Span) Meets(t Span) bool {
	slack := 1e-9 * (1 + max(math.Abs(s.Low), math.Abs(s.High)))
	return s.Low <= t.High+slack && t.Low <= s.High+slack
}

// Middle is the centre of an interval.
func (s Span) Middle() float64 { return (s.Low + s.High) / 2 }
