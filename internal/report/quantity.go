package report

import (
	"html"
	"math"
	"strconv"
	"strings"

	"plimsoll/internal/finding"
	"plimsoll/internal/quantity"
)

// step is a unit that values are shown in.
type step struct {
	Size float64
	Name string
}

// Steps holds what people read for each stored unit, largest first.
var Steps = map[string][]step{
	"s":     {{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}},
	"B":     {{1 << 40, "TiB"}, {1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}, {1, "B"}},
	"B/s":   {{1 << 40, "TiB/s"}, {1 << 30, "GiB/s"}, {1 << 20, "MiB/s"}, {1 << 10, "KiB/s"}, {1, "B/s"}},
	"1/s":   {{1, "/s"}},
	"1":     {{1, ""}},
	"share": {{0.01, "%"}},
}

// AxisSteps add thousands for the marks of an axis, where room is short.
var AxisSteps = map[string][]step{
	"1/s": {{1e9, "G/s"}, {1e6, "M/s"}, {1e3, "k/s"}, {1, "/s"}},
	"1":   {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}},
}

// StepFor picks the unit for a value of that size.
func StepFor(v float64, table []step, unit string) step {
	if len(table) == 0 {
		return step{1, unit}
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return table[0]
	}
	for _, s := range table {
		if v == 0 && s.Size == 1 { // nothing is nothing of the unit itself
			return s
		}
		if math.Abs(v) >= s.Size*0.99995 {
			return s
		}
	}
	if v == 0 {
		return table[0]
	}
	return table[len(table)-1]
}

// Amount writes a value with its unit. half is the half-width of its interval,
// which decides the digits; without one (0) it has four.
func Amount(v, half float64, unit string) string {
	s := StepFor(v, Steps[unit], unit)
	return Join(Number(v/s.Size, half/s.Size), s.Name)
}

// Quantity writes a measured value in the unit that people read: "19,883/s", "2.79 s".
func Quantity(v float64, unit string) string { return Amount(v, 0, unit) }

// NoInterval stands where there is no interval.
const NoInterval = "no interval"

// Interval writes a value and its interval with the same digits; the unit stands behind
// the value and the upper end. One whose ends are the same is none.
func Interval(v, low, high float64, unit string) (value, between string) {
	s := StepFor(v, Steps[unit], unit)
	half := (high - low) / 2
	value = Join(Number(v/s.Size, half/s.Size), s.Name)
	if low == high {
		return value, NoInterval
	}
	return value, Number(low/s.Size, half/s.Size) + " to " + Join(Number(high/s.Size, half/s.Size), s.Name)
}

// About writes a summary with its interval: that of its search, where it is one peak.
func (s *Sources) About(sum *finding.Summary) (mean, between string) {
	low, high := sum.Low, sum.High
	for _, p := range s.Findings.Peaks {
		if low == high && p.Arm == sum.Arm && math.Abs(p.Estimate-sum.Mean) <= 1e-9*sum.Mean {
			low, high = p.Low, p.High
		}
	}
	return Interval(sum.Mean, low, high, sum.Metric.Unit)
}

// Join puts a unit behind a number.
func Join(number, unit string) string {
	if unit == "" || strings.HasPrefix(unit, "/") {
		return number + unit
	}
	return number + " " + unit
}

// Number writes v with the digits that an interval of that half-width bears.
func Number(v, half float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	if math.IsInf(v, 0) {
		return Minus(strings.Replace(strconv.FormatFloat(v, 'f', 0, 64), "Inf", "∞", 1))
	}
	return Minus(quantity.Digits(v, half))
}

// Thousands puts commas into the whole part of a decimal number.
func Thousands(text string) string {
	sign := ""
	if strings.HasPrefix(text, "-") || strings.HasPrefix(text, "+") {
		sign, text = text[:1], text[1:]
	}
	whole, fraction, found := strings.Cut(text, ".")
	var b strings.Builder
	for i, r := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(r)
	}
	if found {
		b.WriteString("." + fraction)
	}
	return sign + b.String()
}

// Minus puts the real minus sign in front of a negative number.
func Minus(text string) string {
	if rest, found := strings.CutPrefix(text, "-"); found {
		return "−" + rest
	}
	return text
}

// mostRatio is from where a ratio is only said to be larger: such ends belong to
// intervals of two or three runs, and their digits say nothing.
const mostRatio = 1000

// Change writes a ratio as a change in percent, in the form that the sentences of
// the findings use.
func Change(ratio float64) string {
	if math.IsNaN(ratio) || math.IsInf(ratio, 0) {
		return Number(ratio, 0)
	}
	if ratio > mostRatio {
		return "over ×" + Number(mostRatio, 0)
	}
	return Typeset(quantity.Percent(ratio - 1))
}

// Within writes a ratio as a change in percent with no more digits than the interval
// from low to high bears, and whole percent at least.
func Within(ratio, low, high float64) string {
	if math.IsNaN(ratio) || !(ratio <= mostRatio) {
		return Change(ratio)
	}
	return Typeset(quantity.PercentWithin(ratio, low, high))
}

// Typeset sets a number that the findings wrote in ASCII.
func Typeset(text string) string {
	if strings.HasSuffix(text, " us") {
		text = strings.TrimSuffix(text, "us") + "µs"
	}
	return Minus(text)
}

// Count writes a whole number.
func Count(n int) string { return Thousands(strconv.Itoa(n)) }

// Plural writes a whole number with its noun.
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}

// Exact writes a number with all its digits.
func Exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// EscapeHTML makes a text safe in HTML.
func EscapeHTML(s string) string { return html.EscapeString(s) }
