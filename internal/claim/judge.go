package claim

import (
	"fmt"
	"strings"
)

// Reasons for which claims do not hold.
const (
	faultValue  = "does not follow from its own numbers"
	faultSign   = "sign missing: the value falls"
	faultWord   = "text must be computed from data"
	faultPoints = "percent versus points"
	faultBase   = "relative to the later value, not to the earlier one"
	faultWay    = "wrong direction"
	faultFactor = "a ratio in percent is not a change in percent"
	faultName   = "metric misnamed"
)

// change is a pair of values of one thing with what the text says about them.
type change struct {
	a, b      *quantity
	metric    string
	direction int
	good      int
	either    bool
	origin    span // of a further change: the value that the first change started from
	hasOrigin bool
}

// reading is one way to read a pair.
type reading struct{ ratio, difference span }

func (c *change) reading(a, b span) (reading, bool) {
	r, ok := b.over(a)
	return reading{r, b.minus(a)}, ok
}

// strict reads the units as the standards define them.
func (c *change) strict() (reading, bool) { return c.reading(c.a.span(), c.b.span()) }

// readings are all ways in which the pair can be read, the strict one first.
func (c *change) readings() []reading {
	var all []reading
	add := func(a, b span) {
		if r, ok := c.reading(a, b); ok {
			all = append(all, r)
		}
	}
	add(c.a.span(), c.b.span())
	if c.either {
		add(c.b.span(), c.a.span())
	}
	return all
}

func (c *change) loose() (reading, bool) {
	if c.a.unit.loose == 0 && c.b.unit.loose == 0 {
		return reading{}, false
	}
	return c.reading(c.a.looseSpan(), c.b.looseSpan())
}

type fit int

const (
	misses fit = iota
	vague
	fits
)

// A hedged number may be off by vaguely as a share and is plainly wrong beyond
// wrongly.
const (
	vaguely = 0.10
	wrongly = 0.15
)

// fits tells whether a computed magnitude is what a saying states.
func (one *saying) fits(c span) fit {
	p, half := one.high, one.half
	if one.rounded && one.hedge == "" {
		half = max(half, vaguely*p)
	}
	said := span{low: one.low - half, high: one.high + half}
	switch one.hedge {
	case hedgeOver:
		return yes(c.high > one.low*(1+1e-9))
	case hedgeAtLeast:
		return yes(c.high >= one.low*(1-1e-9))
	case hedgeUnder:
		return yes(c.low < p && c.high > 0)
	case hedgeUpTo:
		if said.meets(c) {
			return fits
		}
		if c.middle() < p && c.high > 0 {
			return vague
		}
		return misses
	case hedgeNearly:
		return near(c, span{low: p * (1 - vaguely), high: p + half}, span{low: p * (1 - wrongly), high: p + 2*half})
	case hedgeAbout:
		return near(c, span{low: one.low - max(half, vaguely*one.low), high: p + max(half, vaguely*p)}, span{low: one.low * (1 - wrongly), high: p * (1 + wrongly)})
	}
	return yes(said.meets(c))
}

func yes(b bool) fit {
	if b {
		return fits
	}
	return misses
}

func near(c, good, loose span) fit {
	switch {
	case good.meets(c):
		return fits
	case loose.meets(span{low: c.middle(), high: c.middle()}):
		return vague
	}
	return misses
}

// magnitudes are what a saying may be held against, in its own unit and direction.
func (one *saying) magnitudes(c *change, r reading) []span {
	if one.kind == inPoints || one.kind == asDifference {
		return one.differences(c, r)
	}
	up, down := one.up(r.ratio), one.down(r.ratio)
	if one.of && one.kind == inPercent {
		return []span{r.ratio.times(100)}
	}
	direction, good := one.direction, one.good
	if one.sign < 0 && good == 0 {
		direction = -1
	}
	if one.sign > 0 && good == 0 && direction == 0 {
		direction = 1
	}
	if direction == 0 && good == 0 && one.sign == 0 {
		direction, good = c.direction, c.good
	}
	switch {
	case one.rounded && one.kind == inPercent && one.direction == 0 && one.good == 0:
		// "a quarter" alone may be the change or what is left.
		return append(append([]span{r.ratio.times(100)}, up...), down...)
	case direction > 0:
		return up
	case direction < 0:
		return down
	case good != 0:
		all := one.better(c, r.ratio)
		if one.sign > 0 {
			all = append(all, up...)
		} else if one.sign < 0 {
			all = append(all, down...)
		}
		return all
	case one.kind == asFactor:
		return append(up, down...)
	}
	return up
}

// up are the magnitudes of a rise.
func (one *saying) up(r span) []span {
	if one.kind == inPercent {
		return []span{span{low: r.low - 1, high: r.high - 1}.times(100)}
	}
	all := []span{r}
	if one.plusOne {
		all = append(all, span{low: r.low - 1, high: r.high - 1})
	}
	return all
}

// down are the magnitudes of a fall.
func (one *saying) down(r span) []span {
	if one.kind == inPercent {
		return []span{span{low: 1 - r.high, high: 1 - r.low}.times(100)}
	}
	if !(r.low > 0) {
		return nil
	}
	return []span{{low: 1 / r.high, high: 1 / r.low}}
}

// better are the magnitudes of an improvement or of a degradation.
func (one *saying) better(c *change, r span) []span {
	rising := one.up(r)
	falling := one.down(r)
	way := lowerIsBetter(c.metric)
	good := one.good
	if good == 0 {
		good = c.good
	}
	if one.kind == inPercent && (one.speed || c.metric == metricLatency) && r.low > 0 {
		// Speed is the inverse of time: 20 % less time is 25 % faster.
		inverse := span{low: 1 / r.high, high: 1 / r.low}
		if good > 0 {
			falling = append(falling, one.up(inverse)...)
		} else {
			rising = append(rising, one.down(inverse)...)
		}
	}
	switch way * good {
	case 1:
		return falling
	case -1:
		return rising
	}
	return append(rising, falling...)
}

// differences are those of points and of absolute changes.
func (one *saying) differences(c *change, r reading) []span {
	d := r.difference
	if c.hasOrigin && one.kind == inPoints && c.a.unit.dim != dimPercent {
		q, ok := d.over(c.origin)
		if !ok {
			q, _ = d.times(-1).over(c.origin)
			q = q.times(-1)
		}
		d = q.times(100)
	}
	if one.kind == asDifference && one.num.unit.scale > 0 {
		d = d.times(1 / one.num.unit.scale)
	}
	sign, direction := one.sign, one.direction
	if sign == 0 && direction == 0 {
		direction = c.direction
	}
	switch {
	case sign < 0 || direction < 0:
		return []span{d.times(-1)}
	case sign > 0 || direction > 0:
		return []span{d}
	}
	return []span{d, d.times(-1)}
}

// matches is the best fit over all readings.
func (one *saying) matches(c *change, readings []reading) fit {
	best := misses
	for _, r := range readings {
		for _, m := range one.magnitudes(c, r) {
			best = max(best, one.fits(m))
		}
	}
	return best
}

// judge holds a saying against a pair.
func judge(one *saying, c *change) Claim {
	out := Claim{}
	strict, ok := c.strict()
	if !ok {
		out.Status, out.Reason = NotUnderstood, "a change from 0 or to less than 0 is no ratio"
		return out
	}
	out.Computed = one.computed(strict, c)
	switch one.matches(c, c.readings()) {
	case fits:
		out.Status = Holds
		return out
	case vague:
		out.Status = NotUnderstood
		out.Reason = fmt.Sprintf("whether %s is %q is a matter of taste", strings.TrimPrefix(out.Computed, "+"), one.printed())
		if one.hedge == hedgeUpTo {
			out.Reason = "the largest change may be one of other values"
		}
		return out
	}
	if r, ok := c.loose(); ok && one.matches(c, []reading{r}) == fits {
		out.Status, out.Reason = NotUnderstood, "holds only where 1 KB is 1,024 bytes; KB and KiB are different units"
		return out
	}
	if one.bare() && one.ratioReading(strict) {
		out.Status, out.Computed = Holds, one.number(100*strict.ratio.middle())+" % of the value before"
		return out
	}
	out.Status, out.Reason = DoesNotHold, one.fault(c, strict)
	out.Wording = out.Computed
	if one.hedge != "" && out.Reason == faultWord {
		out.Reason += ": " + strings.TrimLeft(out.Computed, "+-") + " is not " + one.printed()
	}
	return out
}

// bare tells whether a percentage stands without anything that makes it a change.
func (one *saying) bare() bool {
	return one.kind == inPercent && one.sign == 0 && one.direction == 0 && one.good == 0 && one.hedge == ""
}

func (one *saying) ratioReading(r reading) bool {
	return one.low > 50 && one.fits(r.ratio.times(100)) == fits
}

// fault says why a saying does not hold.
func (one *saying) fault(c *change, r reading) string {
	plain := *one
	fitsAny := func(all ...span) bool {
		for _, m := range all {
			if plain.fits(m) == fits {
				return true
			}
		}
		return false
	}
	if one.kind == inPercent {
		rise, fall := one.up(r.ratio)[0], one.down(r.ratio)[0]
		inverse := span{low: 1 / r.ratio.high, high: 1 / r.ratio.low}
		points := r.difference
		if c.hasOrigin {
			points, _ = points.times(-1).over(c.origin)
			points = points.times(100)
		}
		switch {
		case !one.claims() && c.direction == 0 && c.good == 0 && fitsAny(fall):
			return faultSign
		case (c.a.percent() || c.hasOrigin && !one.exact()) && fitsAny(points, points.times(-1)), c.hasOrigin:
			return faultPoints
		case one.hedge == "" && (fitsAny(rise) || fitsAny(fall)):
			return faultWay
		case one.hedge == "" && fitsAny(one.up(inverse)[0], one.down(inverse)[0]):
			return faultBase
		case one.hedge == "" && !one.of && fitsAny(r.ratio.times(100), inverse.times(100)):
			return faultFactor
		}
	}
	if one.hedge != "" || one.rounded {
		return faultWord
	}
	return faultValue
}

func (one *saying) exact() bool { return one.hedge == "" }
