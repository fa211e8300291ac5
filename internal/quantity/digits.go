package quantity

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Digits writes v with the digits that an interval of that half-width bears:
// where the first three digits of the half-width are up to 354, to its second
// digit, else to its first. At least the first digit of v stays, and at most five
// are written. Without an interval, a half-width of 0, there are four.
//
// Source: Particle Data Group, Review of Particle Physics, introduction, section
// 5.3, "Rounding".
func Digits(v, half float64) string {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	bounded := half > 0 && !math.IsInf(half, 0)
	most, decimals := 4, 99
	if bounded {
		most, decimals = 5, max(decimalsOf(half), leastDecimals(v, half))
	}
	decimals = min(decimals, most-1-int(math.Floor(math.Log10(math.Abs(v))*(1+1e-15))))
	if decimals < 0 {
		unit := math.Pow(10, float64(-decimals))
		v, decimals = math.Round(v/unit)*unit, 0
	}
	text := strconv.FormatFloat(v, 'f', min(decimals, 12), 64)
	if !(half > 0) && strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return Grouped(text)
}

// leastDecimals keeps a digit of every value, and two where an interval wider than
// the value would leave none: 0 would be a lie.
func leastDecimals(v, half float64) int {
	order := int(math.Floor(math.Log10(math.Abs(v))))
	if a := math.Abs(v); a >= half || a < half/100 {
		return -order
	}
	return 1 - order
}

// decimalsOf is how many decimals an interval of that half-width bears; below 0 it
// is tens.
func decimalsOf(half float64) int {
	order := math.Floor(math.Log10(half))
	if half/math.Pow(10, order) <= 3.545 {
		return 1 - int(order)
	}
	return -int(order)
}

// Measured is Of with the digits that the interval from low to high bears; four
// digits if there is none.
func Measured(value, low, high float64, unit string) string {
	half := (high - low) / 2
	if !(half > 0) || math.IsInf(half, 0) {
		half = 0
	}
	if unit == "share" {
		return Digits(100*value, 100*half) + " %"
	}
	s := StepFor(value, Steps[unit], unit)
	return s.Join(Digits(value/s.Size, half/s.Size))
}

// PercentWithin writes a ratio as a change in percent, with no more digits than the
// interval from low to high bears, and whole percent at least.
func PercentWithin(ratio, low, high float64) string {
	half := 50 * (high - low) // in percent
	text := Percent(ratio - 1)
	if !(half > 0) || math.IsInf(half, 0) {
		return text
	}
	decimals := max(0, decimalsOf(half))
	number := strings.TrimSuffix(text, " %")
	if _, fraction, _ := strings.Cut(number, "."); len(fraction) <= decimals {
		return text
	}
	number = fmt.Sprintf("%+.*f", decimals, 100*(ratio-1))
	if strings.Trim(number, "+-0.") == "" {
		return "0 %"
	}
	return number[:1] + Grouped(number[1:]) + " %"
}
