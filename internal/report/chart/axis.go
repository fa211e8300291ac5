package chart

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"plimsoll/internal/quantity"
	"plimsoll/internal/report"
)

// Axis maps the values of a column to pixels.
type Axis struct {
	ID       string // inside the figure
	Column   string // that it shows
	Low      float64
	High     float64 // values at its ends
	From, To float64 // pixels at its ends
	Log      bool
}

// At is the position of a value in pixels. On a logarithmic axis, values of 0 and less are
// infinitely far out.
func (a *Axis) At(v float64) float64 {
	low, high := a.Low, a.High
	if a.Log {
		v, low, high = math.Log(max(v, 0)), math.Log(low), math.Log(high)
	}
	if high == low {
		return (a.From + a.To) / 2
	}
	return a.From + (v-low)/(high-low)*(a.To-a.From)
}

// Clamp limits a position to the axis.
func (a *Axis) Clamp(p float64) float64 {
	return min(max(p, min(a.From, a.To)), max(a.From, a.To))
}

// Round extends the ends of a linear axis to multiples of its step.
func (a *Axis) Round(marks int) {
	if a.High <= a.Low {
		a.High = a.Low + max(math.Abs(a.Low)*0.1, 1e-12)
	}
	s := NiceStep((a.High - a.Low) / float64(marks))
	a.Low, a.High = math.Floor(a.Low/s+1e-9)*s, math.Ceil(a.High/s-1e-9)*s
}

// NiceStep is 1, 2 or 5 times a power of ten, not below v.
func NiceStep(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5, 10} {
		if m*power >= v*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// Ticks are round values on the axis, about the given number.
func (a *Axis) Ticks(about int) []float64 {
	if a.Log {
		return a.decades(about)
	}
	s := NiceStep((a.High - a.Low) / float64(about))
	var out []float64
	for i := math.Ceil(a.Low/s - 1e-9); i*s <= a.High+1e-9*s; i++ {
		out = append(out, i*s)
	}
	return out
}

// Lanes are ranges across an axis in which its grid lines are drawn, in pixels.
type Lanes [][2]float64

// RatioMarks draws the ticks of a horizontal axis of ratios: grid lines through the lanes,
// labels at the bottom.
func (c *Canvas) RatioMarks(a *Axis, through Lanes, bottom float64) {
	values, labels := changeTicks(a)
	drop := crowded(a, values, labels)
	c.Open(a)
	for i, v := range values {
		class := "grid"
		if v == 1 {
			class = "zero"
		}
		if drop[i] && v != 1 {
			continue
		}
		d := ""
		for _, lane := range through {
			d += "M" + Px(a.At(v)) + " " + Px(lane[0]) + "V" + Px(lane[1])
		}
		c.Write(`<path class="%s" data-v="%s" d="%s"/>`, class, report.Exact(v), d)
		half := Wide(labels[i], 12) / 2
		c.Text(min(max(a.At(v), half), c.Width-half), bottom+18, "tick c", labels[i])
	}
	c.End()
}

// crowded reports which labels would touch the one before them, or that of no change.
func crowded(a *Axis, values []float64, labels []string) []bool {
	drop := make([]bool, len(values))
	room := math.Inf(-1)
	for i, v := range values {
		half := Wide(labels[i], 12)/2 + 4
		drop[i] = a.At(v)-half < room || v < 1 && a.At(v)+half > a.At(1)-10
		if !drop[i] || v == 1 {
			room = a.At(v) + half
		}
	}
	return drop
}

// decades are the powers of ten on the axis, with 2 and 5 times them if there are few.
func (a *Axis) decades(about int) []float64 {
	var out []float64
	for _, multiples := range [][]float64{{1}, {1, 3}, {1, 2, 5}} {
		out = out[:0]
		for e := math.Floor(math.Log10(a.Low)); e <= math.Ceil(math.Log10(a.High)); e++ {
			for _, m := range multiples {
				if v := m * math.Pow(10, e); v >= a.Low*(1-1e-9) && v <= a.High*(1+1e-9) {
					out = append(out, v)
				}
			}
		}
		if len(out) >= min(about, 3) {
			return out
		}
	}
	if len(out) < 2 { // less than a factor of two: linear ticks
		linear := Axis{Low: a.Low, High: a.High}
		return linear.Ticks(about)
	}
	return out
}

// axisSteps adds thousands for tick labels, where space is short.
var axisSteps = map[string][]quantity.Step{
	"1/s": {{Size: 1e9, Name: "G/s"}, {Size: 1e6, Name: "M/s"}, {Size: 1e3, Name: "k/s"}, {Size: 1, Name: "/s"}},
	"1":   {{Size: 1e9, Name: "G"}, {Size: 1e6, Name: "M"}, {Size: 1e3, Name: "k"}, {Size: 1}},
}

// TickLabels formats the ticks of an axis. On a linear axis only the last has the unit.
func TickLabels(values []float64, unit string, log bool) []string {
	labels := make([]string, len(values))
	table := axisSteps[unit]
	if table == nil {
		table = quantity.Steps[unit]
	}
	step := func(v float64) quantity.Step {
		s := quantity.StepFor(v, table, unit)
		s.Name = strings.Replace(s.Name, "us", "µs", 1)
		return s
	}
	largest, gap := 0.0, math.Inf(1)
	for i, v := range values {
		largest = max(largest, math.Abs(v))
		if i > 0 {
			gap = min(gap, v-values[i-1])
		}
	}
	for i, v := range values {
		if log {
			s := step(v)
			labels[i] = s.Join(report.Minus(strconv.FormatFloat(v/s.Size, 'g', 3, 64)))
			continue
		}
		s := step(largest)
		decimals := max(0, -int(math.Floor(math.Log10(gap/s.Size)+1e-9)))
		if math.IsInf(gap, 1) {
			decimals = 0
		}
		labels[i] = report.Minus(quantity.Grouped(strconv.FormatFloat(v/s.Size, 'f', min(decimals, 9), 64)))
		if v == 0 {
			labels[i] = "0"
		}
		if i == len(values)-1 {
			labels[i] = s.Join(labels[i])
		}
	}
	return labels
}

// Open begins the group of an axis and its ticks.
func (c *Canvas) Open(a *Axis) {
	kind := "linear"
	if a.Log {
		kind = "log"
	}
	c.Write(`<g data-axis="%s" data-scale="%s">`, a.ID, kind)
}

// GridY draws the ticks of a vertical axis: horizontal grid lines with labels to the left of
// them.
func (c *Canvas) GridY(a *Axis, left, right float64, unit string) {
	values := a.Ticks(4)
	labels := TickLabels(values, unit, a.Log)
	c.Open(a)
	for i, v := range values {
		class := "grid"
		if v == 0 {
			class = "zero"
		}
		c.Write(`<path class="%s" data-v="%s" d="M%s %sH%s"/>`, class, report.Exact(v), Px(left), Px(a.At(v)), Px(right))
		c.Text(left-8, a.At(v)+4, "tick e", labels[i])
	}
	c.End()
}

// GridX draws the ticks of a horizontal axis: short lines with labels below them.
func (c *Canvas) GridX(a *Axis, y float64, labels []string, values []float64) {
	c.Open(a)
	for i, v := range values {
		x := a.At(v)
		c.Write(`<path class="grid" data-v="%s" d="M%s %sV%s"/>`, report.Exact(v), Px(x), Px(y), Px(y+5))
		if labels[i] != "" {
			c.Text(x, y+18, "tick c", labels[i])
		}
	}
	c.End()
}

// changeTicks are round changes on a logarithmic axis of ratios, and their labels.
func changeTicks(a *Axis) (values []float64, labels []string) {
	add := func(v float64, label string) {
		if v >= a.Low*(1-1e-9) && v <= a.High*(1+1e-9) {
			values, labels = append(values, v), append(labels, label)
		}
	}
	if a.High/a.Low > 8 {
		for _, v := range []float64{1. / 32, 1. / 8, .25, .5, 1, 2, 4, 8, 32} {
			label := fmt.Sprintf("×%s", strconv.FormatFloat(v, 'g', 2, 64))
			if v < 1 {
				label = fmt.Sprintf("÷%s", strconv.FormatFloat(1/v, 'g', 2, 64))
			}
			if v == 1 {
				label = "×1"
			}
			add(v, label)
		}
		return values, labels
	}
	s := NiceStep((a.High - a.Low) / 6)
	for i := math.Ceil((a.Low-1)/s - 1e-9); 1+i*s <= a.High+1e-9; i++ {
		if 1+i*s <= 0 {
			continue
		}
		label := report.Minus(fmt.Sprintf("%+.4g", 100*i*s)) + " %"
		if i == 0 {
			label = "0"
		}
		add(1+i*s, label)
	}
	return values, labels
}
