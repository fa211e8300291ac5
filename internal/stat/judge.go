package stat

import "math"

// Answer is what an interval says about an effect against a margin of interest.
// Up and down are directions of the value; which of them is better is the
// metric's affair.
type Answer int

// The answers.
const (
	Undecided     Answer = iota // not enough runs
	Equivalent                  // the whole interval lies within the margin
	Above                       // the whole interval lies above the margin
	Below                       // the whole interval lies below the margin
	DifferentUp                 // above 0, the size against the margin open
	DifferentDown               // below 0, the size against the margin open
)

// Judge places the interval low..high of a log-ratio against the margin, a share
// (0.02 is 2 %) taken on the scale of the ratio: ln(1+margin) both ways, so that
// swapping the arms mirrors the answer. An interval that touches a limit has not
// passed it. With a margin of 0 nothing is equivalent.
//
// Source: Schuirmann (1987), two one-sided tests in interval form, here at the
// level of the interval and so stricter than the usual 90 %.
func Judge(low, high, margin float64) Answer {
	d := math.Log1p(math.Max(0, margin))
	switch {
	case !(low <= high):
		return Undecided
	case low > -d && high < d:
		return Equivalent
	case low > d:
		return Above
	case high < -d:
		return Below
	case low > 0:
		return DifferentUp
	case high < 0:
		return DifferentDown
	}
	return Undecided
}
