package report

import (
	"fmt"
	"math"
	"strconv"
)

// axis maps the values of a column to pixels.
type axis struct {
	id       string // inside the figure
	column   string // that it shows
	low      float64
	high     float64 // values at its ends
	from, to float64 // pixels at its ends
	log      bool
}

// at is the place of a value in pixels. On a logarithmic axis nothing, and less, lies
// infinitely far out.
func (a *axis) at(v float64) float64 {
	low, high := a.low, a.high
	if a.log {
		v, low, high = math.Log(max(v, 0)), math.Log(low), math.Log(high)
	}
	if high == low {
		return (a.from + a.to) / 2
	}
	return a.from + (v-low)/(high-low)*(a.to-a.from)
}

// clamp keeps a place on the axis.
func (a *axis) clamp(p float64) float64 {
	return min(max(p, min(a.from, a.to)), max(a.from, a.to))
}

// round stretches the ends of a linear axis to whole steps.
func (a *axis) round(marks int) {
	if a.high <= a.low {
		a.high = a.low + max(math.Abs(a.low)*0.1, 1e-12)
	}
	s := niceStep((a.high - a.low) / float64(marks))
	a.low, a.high = math.Floor(a.low/s+1e-9)*s, math.Ceil(a.high/s-1e-9)*s
}

// niceStep is 1, 2 or 5 times a power of ten, not below v.
func niceStep(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5, 10} {
		if m*power >= v*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// ticks are about so many round values on the axis.
func (a *axis) ticks(about int) []float64 {
	if a.log {
		return a.decades(about)
	}
	s := niceStep((a.high - a.low) / float64(about))
	var out []float64
	for i := math.Ceil(a.low/s - 1e-9); i*s <= a.high+1e-9*s; i++ {
		out = append(out, i*s)
	}
	return out
}

// lanes are stretches across an axis in which its marks are drawn, from and to in
// pixels.
type lanes [][2]float64

// ratioMarks draws the marks of a level axis of ratios: lines through the lanes,
// labels at the bottom.
func (c *canvas) ratioMarks(a *axis, through lanes, bottom float64) {
	values, labels := changeTicks(a)
	drop := crowded(a, values, labels)
	c.open(a)
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
			d += "M" + px(a.at(v)) + " " + px(lane[0]) + "V" + px(lane[1])
		}
		c.write(`<path class="%s" data-v="%s" d="%s"/>`, class, exact(v), d)
		half := wide(labels[i], 12) / 2
		c.text(min(max(a.at(v), half), c.width-half), bottom+18, "tick c", labels[i])
	}
	c.end()
}

// crowded says which labels would touch the one before them, or that of no change.
func crowded(a *axis, values []float64, labels []string) []bool {
	drop := make([]bool, len(values))
	room := math.Inf(-1)
	for i, v := range values {
		half := wide(labels[i], 12)/2 + 4
		drop[i] = a.at(v)-half < room || v < 1 && a.at(v)+half > a.at(1)-10
		if !drop[i] || v == 1 {
			room = a.at(v) + half
		}
	}
	return drop
}

// decades are the powers of ten on the axis, with 2 and 5 times them where there
// are few.
func (a *axis) decades(about int) []float64 {
	var out []float64
	for _, multiples := range [][]float64{{1}, {1, 3}, {1, 2, 5}} {
		out = out[:0]
		for e := math.Floor(math.Log10(a.low)); e <= math.Ceil(math.Log10(a.high)); e++ {
			for _, m := range multiples {
				if v := m * math.Pow(10, e); v >= a.low*(1-1e-9) && v <= a.high*(1+1e-9) {
					out = append(out, v)
				}
			}
		}
		if len(out) >= min(about, 3) {
			return out
		}
	}
	if len(out) < 2 { // less than a factor of two: as on a linear axis
		linear := axis{low: a.low, high: a.high}
		return linear.ticks(about)
	}
	return out
}

// tickLabels writes the marks of an axis. Only the last bears the unit on a linear
// axis, since all have the same.
func tickLabels(values []float64, unit string, log bool) []string {
	labels := make([]string, len(values))
	table := axisSteps[unit]
	if table == nil {
		table = steps[unit]
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
			s := stepFor(v, table, unit)
			labels[i] = join(minus(strconv.FormatFloat(v/s.size, 'g', 3, 64)), s.name)
			continue
		}
		s := stepFor(largest, table, unit)
		decimals := max(0, -int(math.Floor(math.Log10(gap/s.size)+1e-9)))
		if math.IsInf(gap, 1) {
			decimals = 0
		}
		labels[i] = minus(thousands(strconv.FormatFloat(v/s.size, 'f', min(decimals, 9), 64)))
		if v == 0 {
			labels[i] = "0"
		}
		if i == len(values)-1 {
			labels[i] = join(labels[i], s.name)
		}
	}
	return labels
}

// open begins the group of an axis, which holds its marks.
func (c *canvas) open(a *axis) {
	kind := "linear"
	if a.log {
		kind = "log"
	}
	c.write(`<g data-axis="%s" data-scale="%s">`, a.id, kind)
}

// gridY draws the marks of an upright axis: lines from left to right with labels
// to the left of them.
func (c *canvas) gridY(a *axis, left, right float64, unit string) {
	values := a.ticks(4)
	labels := tickLabels(values, unit, a.log)
	c.open(a)
	for i, v := range values {
		class := "grid"
		if v == 0 {
			class = "zero"
		}
		c.write(`<path class="%s" data-v="%s" d="M%s %sH%s"/>`, class, exact(v), px(left), px(a.at(v)), px(right))
		c.text(left-8, a.at(v)+4, "tick e", labels[i])
	}
	c.end()
}

// gridX draws the marks of a level axis: short lines with labels below them.
func (c *canvas) gridX(a *axis, y float64, labels []string, values []float64) {
	c.open(a)
	for i, v := range values {
		x := a.at(v)
		c.write(`<path class="grid" data-v="%s" d="M%s %sV%s"/>`, exact(v), px(x), px(y), px(y+5))
		if labels[i] != "" {
			c.text(x, y+18, "tick c", labels[i])
		}
	}
	c.end()
}

// changeTicks are round changes on a logarithmic axis of ratios, and their labels.
func changeTicks(a *axis) (values []float64, labels []string) {
	add := func(v float64, label string) {
		if v >= a.low*(1-1e-9) && v <= a.high*(1+1e-9) {
			values, labels = append(values, v), append(labels, label)
		}
	}
	if a.high/a.low > 8 {
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
	s := niceStep((a.high - a.low) / 6)
	for i := math.Ceil((a.low-1)/s - 1e-9); 1+i*s <= a.high+1e-9; i++ {
		if 1+i*s <= 0 {
			continue
		}
		label := minus(fmt.Sprintf("%+.4g", 100*i*s)) + " %"
		if i == 0 {
			label = "0"
		}
		add(1+i*s, label)
	}
	return values, labels
}
