package certify

import (
	"fmt"
	"math"

	"plimsoll/internal/measure"
	"plimsoll/internal/trial/window"
)

// ownTime is the largest part of a closed loop that a delegated generator, such
// as fio, may spend between two operations: it times them itself, so that what
// it does in between is missing from X*R.
const ownTime = 0.05

// guestTime is the same on the CPUs of a guest, whose every instruction may be interpreted.
const guestTime = 0.25

// little checks the window against Little's law, N = X*(R+Z).
func little(e *Evidence, limit float64) (measure.State, string) {
	n, x, r := float64(e.Demand.Concurrency), e.Record.Values[e.Operation], e.Record.Values["mean"]
	switch {
	case e.Demand.Ramps:
		return unknown("%s", ramping)
	case e.Demand.Rate > 0:
		return unknown("an open loop has no fixed number of operations in flight")
	case n <= 0 || x <= 0 || r <= 0:
		return unknown("no concurrency, rate or mean latency to compare")
	}
	ratio := x * (r + e.Demand.Think.Seconds()) / n
	detail := fmt.Sprintf("X*R/N is %.4g", ratio)
	edge := allowance(e, n)
	off := ratio - 1
	own := limit // possible gaps
	if !e.Simulated {
		own = max(own, ownTime)
	}
	switch {
	case math.Abs(off) <= limit:
		return verdict(true, "%s", detail)
	case off > 0 && off <= limit+edge.Before:
		return verdict(true, "%s; operations that began before the window can add %s", detail, measure.Percent(edge.Before))
	case off > 0:
		return verdict(false, "%s: more operations in flight than the %g that were asked for", detail, n)
	case -off <= limit+edge.After:
		return verdict(true, "%s; operations that ended after the window can take %s", detail, measure.Percent(edge.After))
	case -off <= own+edge.After:
		return verdict(true, "%s; the generator takes %s of the loop", detail, measure.Percent(-off))
	case edge.Silence > 0 && -off <= own+edge.After+edge.Silence:
		return unknown("%s: no operation ended in the last %s of the window; whether any were in flight is unknown", detail, measure.Percent(edge.Silence))
	case e.Hosted && -off <= guestTime+edge.After:
		// A guest is under test with all that runs in it.
		return unknown("%s; the generator takes %s of the loop on the guest's CPUs, which is part of the system under test", detail, measure.Percent(-off))
	}
	return verdict(false, "%s: %s of the loop is spent outside of operations", detail, measure.Percent(-off))
}

// allowance is how far the edges of the window can move the law, as shares: the operations that
// straddle them, with as many pauses, and what chance does to these. A mean operation of each
// worker is no deviation in any case, since the intervals tell no more of a few operations.
func allowance(e *Evidence, n float64) window.Edges {
	count, r := e.Record.Counts["operations"], e.Record.Values["mean"]
	s := window.EdgesOf(e.Intervals, e.Record.Window, n)
	mean := n / float64(max(1, count))
	pauses := 0.
	if length := e.Record.Window.End - e.Record.Window.Cut; length > 0 {
		pauses = e.Demand.Think.Seconds() / length
	}
	chance := e.Demand.Chance(count, r)
	s.Before = max(mean, s.Before+pauses) + chance
	s.After = max(mean, s.After+pauses) + chance
	return s
}
