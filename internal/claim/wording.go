package claim

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// computed is what the values give, in the unit of the saying.
func (one *saying) computed(r reading, c *change) string {
	switch {
	case one.kind == inPoints && c.a.unit.dim == dimPercent:
		return one.signed(r.difference.middle()) + " points"
	case one.kind == asDifference && one.num.unit.scale > 0:
		return one.signed(r.difference.middle()/one.num.unit.scale) + " " + unitText(one.num)
	case one.kind == asFactor:
		factor, less := c.b.span().middle()/c.a.span().middle(), ""
		if factor < 1 && one.low >= 1 {
			factor, less = 1/factor, " less"
		}
		return strconv.FormatFloat(factor, 'g', max(3, one.decimals+2), 64) + "x" + less
	case one.of:
		return one.number(100*r.ratio.middle()) + " %"
	}
	// The printed values, not the middle of the interval.
	a, b := c.a.span().middle(), c.b.span().middle()
	text := one.signed(100*(b/a-1)) + " %"
	if c.hasOrigin {
		text += fmt.Sprintf(" relative, %s points of %s", one.signed(100*(b-a)/c.origin.middle()), grouped(c.origin.middle()))
	}
	if c.a.percent() {
		text += " relative, " + one.signed(b-a) + " points"
	}
	return text
}

func (one *saying) signed(v float64) string {
	text := one.number(v)
	if v >= 0 {
		text = "+" + text
	}
	return text
}

// number writes a computed number with as many digits as the printed one, and at
// least one decimal.
func (one *saying) number(v float64) string {
	n := max(1, one.decimals)
	if math.Abs(v) < 0.995 {
		n = max(2, n)
	}
	return strconv.FormatFloat(v, 'f', min(n, 6), 64)
}

// printed is the saying without its direction: "over 10 %".
func (one *saying) printed() string {
	var text string
	switch {
	case one.num != nil:
		text = one.num.printed
	case one.kind == inPercent:
		text = one.number(one.low) + " %"
	default:
		text = strconv.FormatFloat(one.low, 'g', 3, 64) + "x"
	}
	return strings.TrimSpace(one.hedgeText + " " + text)
}

// unitText is the unit as printed after a number.
func unitText(q *quantity) string {
	return strings.TrimSpace(strings.TrimLeft(q.printed, "+-\u2212\u20130123456789.,'\u2019\u00a0\u202f "))
}

// grouped writes a number with commas and four significant digits at least.
func grouped(v float64) string {
	text := strconv.FormatFloat(v, 'f', -1, 64)
	if r := math.Round(v); math.Abs(v-r) < 1e-9*math.Abs(v) {
		text = strconv.FormatFloat(r, 'f', -1, 64)
	} else {
		text = strconv.FormatFloat(v, 'g', 5, 64)
	}
	if strings.ContainsAny(text, "eIN") {
		return text
	}
	whole, fraction, dot := strings.Cut(text, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	var b strings.Builder
	for i, r := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(r)
	}
	if dot {
		b.WriteString("." + fraction)
	}
	return sign + b.String()
}
