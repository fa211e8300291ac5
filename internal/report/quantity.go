package report

import (
	"html"
	"math"
	"strconv"
	"strings"

	"plimsoll/internal/finding"
	"plimsoll/internal/quantity"
)

// stepFor is the unit in which a value is shown.
func stepFor(v float64, unit string) quantity.Step {
	s := quantity.StepFor(v, quantity.Steps[unit], unit)
	s.Name = strings.Replace(s.Name, "us", "µs", 1)
	return s
}

// Amount formats a value with its unit. half is the half-width of its interval, which
// determines the digits; without one (0) it has four.
func Amount(v, half float64, unit string) string {
	s := stepFor(v, unit)
	return s.Join(Number(v/s.Size, half/s.Size))
}

// Quantity formats a measured value in a readable unit: "19,883/s", "2.79 s".
func Quantity(v float64, unit string) string { return Amount(v, 0, unit) }

// NoInterval is shown in place of a missing interval.
const NoInterval = "no interval"

// Interval formats a value and its interval with the same digits and the unit after the value
// and the upper end. Equal ends are no interval.
func Interval(v, low, high float64, unit string) (value, between string) {
	s := stepFor(v, unit)
	half := (high - low) / 2
	value = s.Join(Number(v/s.Size, half/s.Size))
	if low == high {
		return value, NoInterval
	}
	return value, Number(low/s.Size, half/s.Size) + " to " + s.Join(Number(high/s.Size, half/s.Size))
}

// About formats a summary with its interval: that of the search, if it is one peak.
func (s *Sources) About(sum *finding.Summary) (mean, between string) {
	low, high := sum.Low, sum.High
	for _, p := range s.Findings.Peaks {
		if low == high && p.Arm == sum.Arm && math.Abs(p.Estimate-sum.Mean) <= 1e-9*sum.Mean {
			low, high = p.Low, p.High
		}
	}
	return Interval(sum.Mean, low, high, sum.Metric.Unit)
}

// Number formats v with the digits that an interval of that half-width justifies.
func Number(v, half float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	if math.IsInf(v, 0) {
		return Minus(strings.Replace(strconv.FormatFloat(v, 'f', 0, 64), "Inf", "∞", 1))
	}
	return Minus(quantity.Digits(v, half))
}

// Minus replaces the hyphen of a negative number by a minus sign.
func Minus(text string) string {
	if rest, found := strings.CutPrefix(text, "-"); found {
		return "−" + rest
	}
	return text
}

// mostRatio is the largest ratio shown: larger ends are of intervals of two or three runs, and
// meaningless.
const mostRatio = 1000

// Change formats a ratio as a change in percent, as the sentences of the findings do.
func Change(ratio float64) string {
	if math.IsNaN(ratio) || math.IsInf(ratio, 0) {
		return Number(ratio, 0)
	}
	if ratio > mostRatio {
		return "over ×" + Number(mostRatio, 0)
	}
	return Typeset(quantity.Percent(ratio - 1))
}

// Within formats a ratio as a change in percent with the digits that the interval from low to
// high justifies, at least whole percent.
func Within(ratio, low, high float64) string {
	if math.IsNaN(ratio) || !(ratio <= mostRatio) {
		return Change(ratio)
	}
	return Typeset(quantity.PercentWithin(ratio, low, high))
}

// Typeset formats an ASCII number of the findings for display.
func Typeset(text string) string {
	if strings.HasSuffix(text, " us") {
		text = strings.TrimSuffix(text, "us") + "µs"
	}
	return Minus(text)
}

// Plural writes a whole number with its noun.
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return quantity.Count(n) + " " + many
}

// Exact formats a number with all its digits.
func Exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// EscapeHTML escapes a text for HTML.
func EscapeHTML(s string) string { return html.EscapeString(s) }
