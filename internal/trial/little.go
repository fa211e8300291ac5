package trial

import (
	"fmt"
	"math"

	"plimsoll/internal/measure"
)

// ownTime is the largest part of a closed loop that a delegated generator, such
// as fio, may spend between two operations: it times them itself, so that what
// it does in between is missing from X*R.
const ownTime = 0.05

// guestTime is the same on the CPUs of a guest, whose every instruction may be interpreted.
const guestTime = 0.25

// little holds the window against Little's law, N = X*(R+Z).
func little(e *evidence, limit float64) (measure.State, string) {
	n, x, r := float64(e.demand.Concurrency), e.record.Values[e.operation], e.record.Values["mean"]
	switch {
	case e.demand.Rate > 0:
		return unknown("an open loop has no fixed number of operations in flight")
	case n <= 0 || x <= 0 || r <= 0:
		return unknown("no concurrency, rate or mean latency to compare")
	}
	ratio := x * (r + e.demand.Think.Seconds()) / n
	detail := fmt.Sprintf("X*R/N is %.4g", ratio)
	edge := edges(e, n)
	off := ratio - 1
	own := limit // what may be missing
	if !e.simulated {
		own = max(own, ownTime)
	}
	switch {
	case math.Abs(off) <= limit:
		return verdict(true, "%s", detail)
	case off > 0 && off <= limit+edge.before:
		return verdict(true, "%s; operations that began before the window can add %s", detail, percent(edge.before))
	case off > 0:
		return verdict(false, "%s: more operations in flight than the %g that were asked for", detail, n)
	case -off <= limit+edge.after:
		return verdict(true, "%s; operations that ended after the window can take %s", detail, percent(edge.after))
	case -off <= own+edge.after:
		return verdict(true, "%s; the generator itself takes %s of the loop", detail, percent(-off))
	case edge.silence > 0 && -off <= own+edge.after+edge.silence:
		return unknown("%s: nothing ended in the last %s of the window, and whether operations were in flight then cannot be told", detail, percent(edge.silence))
	case e.hosted && -off <= guestTime+edge.after:
		// A guest is under test with all that runs in it.
		return unknown("%s; the generator itself takes %s of the loop on the guest's CPUs, as part of what is measured", detail, percent(-off))
	}
	return verdict(false, "%s: %s of the loop is spent outside of operations", detail, percent(-off))
}

// edges is what the edges of the window can make of the law, as shares: the operations that
// straddle them, with as many pauses, and what chance does to these. A mean operation of each
// worker is no deviation in any case, since the intervals tell no more of a few operations.
func edges(e *evidence, n float64) straddling {
	count, r := e.record.Counts["operations"], e.record.Values["mean"]
	s := straddle(e.intervals, e.record.Window, n)
	mean := n / float64(max(1, count))
	pauses := 0.
	if length := e.record.Window.End - e.record.Window.Cut; length > 0 {
		pauses = e.demand.Think.Seconds() / length
	}
	chance := e.demand.Chance(count, r)
	s.before = max(mean, s.before+pauses) + chance
	s.after = max(mean, s.after+pauses) + chance
	return s
}
