package stat

import "math"

// Answer is the decision about an effect by its interval and a margin. Up and down are
// directions of the value, whichever of them is better.
type Answer int

// The decisions.
const (
	Undecided     Answer = iota // not enough runs
	Equivalent                  // the whole interval lies within the margin
	Above                       // the whole interval lies above the margin
	Below                       // the whole interval lies below the margin
	DifferentUp                 // above 0, undecided against the margin
	DifferentDown               // below 0, undecided against the margin
)

// Judge compares the interval low..high of a log-ratio with the margin, a share (0.02 is 2 %).
// Its limits are -ln(1+margin) and ln(1+margin), so that swapping the arms mirrors the
// decision. An interval that touches a limit does not exclude it. With a margin of 0,
// Equivalent is never returned.
//
// Source: Schuirmann (1987), two one-sided tests in interval form, here at the level of the
// interval and so stricter than the usual 90 %.
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
