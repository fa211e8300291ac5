// Package judge compares stated changes with two values.
package judge

import (
	"fmt"
	"strings"

	"plimsoll/internal/claim"
	"plimsoll/internal/claim/grammar"
	"plimsoll/internal/claim/number"
)

// Reasons why claims do not hold.
const (
	FaultValue  = "does not follow from its own numbers"
	FaultSign   = "sign missing: the value falls"
	FaultWord   = "wording contradicts the numbers"
	faultPoints = "percent versus points"
	faultBase   = "relative to the later value instead of the earlier one"
	FaultWay    = "wrong direction"
	faultFactor = "ratio in percent stated as change in percent"
	FaultName   = "metric misnamed"
)

// Change is a pair of values of one metric with the statements about them.
type Change struct {
	A, B      *number.Quantity
	Metric    string
	Direction int
	Good      int
	Either    bool
	Origin    number.Span // of a further change: the base of the first change
	HasOrigin bool
}

// reading is one interpretation of a pair.
type reading struct{ Ratio, difference number.Span }

func (c *Change) reading(a, b number.Span) (reading, bool) {
	r, ok := b.Over(a)
	return reading{r, b.Minus(a)}, ok
}

// Strict interprets units by their standards.
func (c *Change) Strict() (reading, bool) { return c.reading(c.A.Span(), c.B.Span()) }

// readings are all interpretations of a pair, the strict one first.
func (c *Change) readings() []reading {
	var all []reading
	add := func(a, b number.Span) {
		if r, ok := c.reading(a, b); ok {
			all = append(all, r)
		}
	}
	add(c.A.Span(), c.B.Span())
	if c.Either {
		add(c.B.Span(), c.A.Span())
	}
	return all
}

func (c *Change) loose() (reading, bool) {
	if c.A.Unit.Loose == 0 && c.B.Unit.Loose == 0 {
		return reading{}, false
	}
	return c.reading(c.A.LooseSpan(), c.B.LooseSpan())
}

type fit int

const (
	Misses fit = iota // is a saying that the values contradict
	Vague             // is a hedged one that cannot be decided
	Fits              // is one that follows from the values
)

// A hedged number may be off by vaguely as a share, and is wrong beyond wrongly.
const (
	Vaguely = 0.10
	wrongly = 0.15
)

// FitOf compares a computed magnitude with a stated change.
func FitOf(one *grammar.Saying, c number.Span) fit {
	p, half := one.High, one.Half
	if one.Rounded && one.Hedge == "" {
		half = max(half, Vaguely*p)
	}
	said := number.Span{Low: one.Low - half, High: one.High + half}
	switch one.Hedge {
	case grammar.HedgeOver:
		return yes(c.High > one.Low*(1+1e-9))
	case grammar.HedgeAtLeast:
		return yes(c.High >= one.Low*(1-1e-9))
	case grammar.HedgeUnder:
		return yes(c.Low < p && c.High > 0)
	case grammar.HedgeUpTo:
		if said.Meets(c) {
			return Fits
		}
		if c.Middle() < p && c.High > 0 {
			return Vague
		}
		return Misses
	case grammar.HedgeNearly:
		return near(c, number.Span{Low: p * (1 - Vaguely), High: p + half}, number.Span{Low: p * (1 - wrongly), High: p + 2*half})
	case grammar.HedgeAbout:
		return near(c, number.Span{Low: one.Low - max(half, Vaguely*one.Low), High: p + max(half, Vaguely*p)}, number.Span{Low: one.Low * (1 - wrongly), High: p * (1 + wrongly)})
	}
	return yes(said.Meets(c))
}

func yes(b bool) fit {
	if b {
		return Fits
	}
	return Misses
}

func near(c, good, loose number.Span) fit {
	switch {
	case good.Meets(c):
		return Fits
	case loose.Meets(number.Span{Low: c.Middle(), High: c.Middle()}):
		return Vague
	}
	return Misses
}

// magnitudes are the values that a stated change may refer to, in its unit and direction.
func magnitudes(one *grammar.Saying, c *Change, r reading) []number.Span {
	if one.Kind == grammar.InPoints || one.Kind == grammar.AsDifference {
		return differences(one, c, r)
	}
	up, down := Up(one, r.Ratio), Down(one, r.Ratio)
	if one.Of && one.Kind == grammar.InPercent {
		return []number.Span{r.Ratio.Times(100)}
	}
	direction, good := one.Direction, one.Good
	if one.Sign < 0 && good == 0 {
		direction = -1
	}
	if one.Sign > 0 && good == 0 && direction == 0 {
		direction = 1
	}
	if direction == 0 && good == 0 && one.Sign == 0 {
		direction, good = c.Direction, c.Good
	}
	switch {
	case one.Rounded && one.Kind == grammar.InPercent && one.Direction == 0 && one.Good == 0:
		// "a quarter" alone may be the change or the rest.
		return append(append([]number.Span{r.Ratio.Times(100)}, up...), down...)
	case direction > 0:
		return up
	case direction < 0:
		return down
	case good != 0:
		all := better(one, c, r.Ratio)
		if one.Sign > 0 {
			all = append(all, up...)
		} else if one.Sign < 0 {
			all = append(all, down...)
		}
		return all
	case one.Kind == grammar.AsFactor:
		return append(up, down...)
	}
	return up
}

// Up are the magnitudes of a rise.
func Up(one *grammar.Saying, r number.Span) []number.Span {
	if one.Kind == grammar.InPercent {
		return []number.Span{number.Span{Low: r.Low - 1, High: r.High - 1}.Times(100)}
	}
	all := []number.Span{r}
	if one.PlusOne {
		all = append(all, number.Span{Low: r.Low - 1, High: r.High - 1})
	}
	return all
}

// Down are the magnitudes of a fall.
func Down(one *grammar.Saying, r number.Span) []number.Span {
	if one.Kind == grammar.InPercent {
		return []number.Span{number.Span{Low: 1 - r.High, High: 1 - r.Low}.Times(100)}
	}
	if !(r.Low > 0) {
		return nil
	}
	return []number.Span{{Low: 1 / r.High, High: 1 / r.Low}}
}

// better are the magnitudes of an improvement or of a degradation.
func better(one *grammar.Saying, c *Change, r number.Span) []number.Span {
	rising := Up(one, r)
	falling := Down(one, r)
	way := number.LowerIsBetter(c.Metric)
	good := one.Good
	if good == 0 {
		good = c.Good
	}
	if one.Kind == grammar.InPercent && (one.Speed || c.Metric == number.MetricLatency) && r.Low > 0 {
		// Speed is the inverse of time: 20 % less time is 25 % faster.
		inverse := number.Span{Low: 1 / r.High, High: 1 / r.Low}
		if good > 0 {
			falling = append(falling, Up(one, inverse)...)
		} else {
			rising = append(rising, Down(one, inverse)...)
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
func differences(one *grammar.Saying, c *Change, r reading) []number.Span {
	d := r.difference
	if c.HasOrigin && one.Kind == grammar.InPoints && c.A.Unit.Dim != number.DimPercent {
		q, ok := d.Over(c.Origin)
		if !ok {
			q, _ = d.Times(-1).Over(c.Origin)
			q = q.Times(-1)
		}
		d = q.Times(100)
	}
	if one.Kind == grammar.AsDifference && one.Num.Unit.Scale > 0 {
		d = d.Times(1 / one.Num.Unit.Scale)
	}
	sign, direction := one.Sign, one.Direction
	if sign == 0 && direction == 0 {
		direction = c.Direction
	}
	switch {
	case sign < 0 || direction < 0:
		return []number.Span{d.Times(-1)}
	case sign > 0 || direction > 0:
		return []number.Span{d}
	}
	return []number.Span{d, d.Times(-1)}
}

// matches is the best fit over all interpretations.
func matches(one *grammar.Saying, c *Change, readings []reading) fit {
	best := Misses
	for _, r := range readings {
		for _, m := range magnitudes(one, c, r) {
			best = max(best, FitOf(one, m))
		}
	}
	return best
}

// Of compares a stated change with a pair.
func Of(one *grammar.Saying, c *Change) claim.Claim {
	out := claim.Claim{}
	strict, ok := c.Strict()
	if !ok {
		out.Status, out.Reason = claim.NotUnderstood, "a change from 0 or to less than 0 is no ratio"
		return out
	}
	out.Computed = computed(one, strict, c)
	switch matches(one, c, c.readings()) {
	case Fits:
		out.Status = claim.Holds
		return out
	case Vague:
		out.Status = claim.NotUnderstood
		out.Reason = fmt.Sprintf("whether %s is %q cannot be decided", strings.TrimPrefix(out.Computed, "+"), Printed(one))
		if one.Hedge == grammar.HedgeUpTo {
			out.Reason = "the largest change may be of other values"
		}
		return out
	}
	if r, ok := c.loose(); ok && matches(one, c, []reading{r}) == Fits {
		out.Status, out.Reason = claim.NotUnderstood, "holds only if 1 KB is 1,024 bytes (KiB)"
		return out
	}
	if bare(one) && ratioReading(one, strict) {
		out.Status, out.Computed = claim.Holds, Number(one, 100*strict.Ratio.Middle())+" % of the value before"
		return out
	}
	out.Status, out.Reason = claim.DoesNotHold, fault(one, c, strict)
	out.Wording = out.Computed
	if one.Hedge != "" && out.Reason == FaultWord {
		out.Reason += ": " + strings.TrimLeft(out.Computed, "+-") + " is not " + Printed(one)
	}
	return out
}

// bare reports whether a percentage has no word of change.
func bare(one *grammar.Saying) bool {
	return one.Kind == grammar.InPercent && one.Sign == 0 && one.Direction == 0 && one.Good == 0 && one.Hedge == ""
}

func ratioReading(one *grammar.Saying, r reading) bool {
	return one.Low > 50 && FitOf(one, r.Ratio.Times(100)) == Fits
}

// fault is why a stated change does not hold.
func fault(one *grammar.Saying, c *Change, r reading) string {
	plain := *one
	fitsAny := func(all ...number.Span) bool {
		for _, m := range all {
			if FitOf(&plain, m) == Fits {
				return true
			}
		}
		return false
	}
	if one.Kind == grammar.InPercent {
		rise, fall := Up(one, r.Ratio)[0], Down(one, r.Ratio)[0]
		inverse := number.Span{Low: 1 / r.Ratio.High, High: 1 / r.Ratio.Low}
		points := r.difference
		if c.HasOrigin {
			points, _ = points.Times(-1).Over(c.Origin)
			points = points.Times(100)
		}
		switch {
		case !one.Claims() && c.Direction == 0 && c.Good == 0 && fitsAny(fall):
			return FaultSign
		case (c.A.Percent() || c.HasOrigin && !exact(one)) && fitsAny(points, points.Times(-1)), c.HasOrigin:
			return faultPoints
		case one.Hedge == "" && (fitsAny(rise) || fitsAny(fall)):
			return FaultWay
		case one.Hedge == "" && fitsAny(Up(one, inverse)[0], Down(one, inverse)[0]):
			return faultBase
		case one.Hedge == "" && !one.Of && fitsAny(r.Ratio.Times(100), inverse.Times(100)):
			return faultFactor
		}
	}
	if one.Hedge != "" || one.Rounded {
		return FaultWord
	}
	return FaultValue
}

func exact(one *grammar.Saying) bool { return one.Hedge == "" }
