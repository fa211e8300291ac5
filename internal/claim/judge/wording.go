package judge

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"plimsoll/internal/claim/grammar"
	"plimsoll/internal/claim/number"
	"plimsoll/internal/quantity"
)

// computed is the result from the values, in the unit of the claim.
func computed(one *grammar.Saying, r reading, c *Change) string {
	switch {
	case one.Kind == grammar.InPoints && c.A.Unit.Dim == number.DimPercent:
		return signed(one, r.difference.Middle()) + " points"
	case one.Kind == grammar.AsDifference && one.Num.Unit.Scale > 0:
		return signed(one, r.difference.Middle()/one.Num.Unit.Scale) + " " + UnitText(one.Num)
	case one.Kind == grammar.AsFactor:
		factor, less := c.B.Span().Middle()/c.A.Span().Middle(), ""
		if factor < 1 && one.Low >= 1 {
			factor, less = 1/factor, " less"
		}
		return strconv.FormatFloat(factor, 'g', max(3, one.Decimals+2), 64) + "x" + less
	case one.Of:
		return Number(one, 100*r.Ratio.Middle()) + " %"
	}
	// The printed values, not the centre of the interval.
	a, b := c.A.Span().Middle(), c.B.Span().Middle()
	text := signed(one, 100*(b/a-1)) + " %"
	if c.HasOrigin {
		text += fmt.Sprintf(" relative, %s points of %s", signed(one, 100*(b-a)/c.Origin.Middle()), Grouped(c.Origin.Middle()))
	}
	if c.A.Percent() {
		text += " relative, " + signed(one, b-a) + " points"
	}
	return text
}

func signed(one *grammar.Saying, v float64) string {
	text := Number(one, v)
	if v >= 0 {
		text = "+" + text
	}
	return text
}

// Number formats a computed number with the decimals of the printed one, and at least one.
func Number(one *grammar.Saying, v float64) string {
	n := max(1, one.Decimals)
	if math.Abs(v) < 0.995 {
		n = max(2, n)
	}
	return strconv.FormatFloat(v, 'f', min(n, 6), 64)
}

// Printed is the saying without its direction: "over 10 %".
func Printed(one *grammar.Saying) string {
	var text string
	switch {
	case one.Num != nil:
		text = one.Num.Printed
	case one.Kind == grammar.InPercent:
		text = Number(one, one.Low) + " %"
	default:
		text = strconv.FormatFloat(one.Low, 'g', 3, 64) + "x"
	}
	return strings.TrimSpace(one.HedgeText + " " + text)
}

// UnitText is the unit as printed after a number.
func UnitText(q *number.Quantity) string {
	return strings.TrimSpace(strings.TrimLeft(q.Printed, "+-\u2212\u20130123456789.,'\u2019\u00a0\u202f "))
}

// Grouped formats a number with thousands separators and at least four significant digits.
func Grouped(v float64) string {
	var text string
	if r := math.Round(v); math.Abs(v-r) < 1e-9*math.Abs(v) {
		text = strconv.FormatFloat(r, 'f', -1, 64)
	} else {
		text = strconv.FormatFloat(v, 'g', 5, 64)
	}
	if strings.ContainsAny(text, "eIN") {
		return text
	}
	return quantity.Grouped(text)
}
