// Package quantity formats numbers: with a unit that fits their size, and
// with no more digits than their interval bears. It writes ASCII.
package quantity

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Percent writes a share as a change in percent, always with its sign: "+27.1 %".
// Changes below 1 % get a second decimal.
func Percent(share float64) string {
	p := 100 * share
	text := fmt.Sprintf("%+.1f", p)
	if math.Abs(p) < 0.995 {
		text = fmt.Sprintf("%+.2f", p)
	}
	if text == "-0.00" {
		text = "+0.00"
	}
	return text + " %"
}

// Share writes a share in percent without a sign: "2 %", "98.49 %".
func Share(share float64) string {
	return strconv.FormatFloat(math.Round(1e6*share)/1e4, 'f', -1, 64) + " %"
}

// Step is a unit that a quantity is written in.
type Step struct {
	Size float64
	Name string
}

// Steps holds, for each stored unit, the steps of it that people read, largest first.
var Steps = map[string][]Step{
	"s":     {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}},
	"B":     {{1 << 40, "TiB"}, {1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}, {1, "B"}},
	"B/s":   {{1 << 40, "TiB/s"}, {1 << 30, "GiB/s"}, {1 << 20, "MiB/s"}, {1 << 10, "KiB/s"}, {1, "B/s"}},
	"1/s":   {{1, "/s"}},
	"1/min": {{1, "/min"}},
	"1":     {{1, ""}},
	"share": {{0.01, "%"}},
}

// StepFor picks the step for a value of that size; a unit without steps is its own.
func StepFor(v float64, steps []Step, unit string) Step {
	if len(steps) == 0 {
		return Step{1, unit}
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return steps[0]
	}
	for _, s := range steps {
		if v == 0 && s.Size == 1 { // nothing is nothing of the unit itself
			return s
		}
		if math.Abs(v) >= s.Size*0.99995 {
			return s
		}
	}
	return steps[len(steps)-1]
}

// Join puts the unit behind a number.
func (s Step) Join(number string) string {
	if s.Name == "" || strings.HasPrefix(s.Name, "/") {
		return number + s.Name
	}
	return number + " " + s.Name
}

// Of formats a value of a stored unit with four digits: "1.235 ms",
// "41,240/s", "512 MiB". The unit "share" stands for a part of a whole, written in
// percent.
func Of(value float64, unit string) string {
	if unit == "share" {
		return Share(Round(value, 3))
	}
	s := StepFor(value, Steps[unit], unit)
	return s.Join(Short(value / s.Size))
}

// Round rounds to so many significant digits.
func Round(v float64, significant int) float64 {
	text := strconv.FormatFloat(v, 'g', significant, 64)
	rounded, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return v
	}
	return rounded
}

// Short writes four significant digits, with commas and without an exponent
// where that stays readable.
func Short(v float64) string {
	a := math.Abs(v)
	if a != 0 && (a < 1e-4 || a >= 1e15) {
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	decimals := 0
	if a > 0 {
		decimals = max(0, 3-int(math.Floor(math.Log10(a*1.00005))))
	}
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return Grouped(text)
}

// Grouped puts commas between the thousands of a decimal number.
func Grouped(text string) string {
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

// Count writes a whole number.
func Count(n int) string { return Grouped(strconv.Itoa(n)) }

// Plural is the noun for n of something.
func Plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}
