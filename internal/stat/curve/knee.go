package curve

import (
	"math"

	"plimsoll/internal/stat"
)

// Knee is the rate at which the response time of a system meets a limit, by a curve for queues
// with several servers. It replaces InversePrediction where a line does not fit.
type Knee struct {
	X         float64       // rate at which the fitted response time meets the limit, in the unit of x; NaN if it does not
	Interval  stat.Interval // of X; infinite on a side that is not bounded
	Floor     float64       // service time without waiting, in the unit of the limit; 0 for a single server, where 1/q is a line
	Curvature float64       // p value of Floor being 0: large where a line would do
	LackOfFit float64       // p value of the lack-of-fit test
}

// Bounded reports whether the interval has both ends.
func (k Knee) Bounded() bool {
	return !math.IsNaN(k.X) && !math.IsInf(k.Interval.Low, 0) && !math.IsInf(k.Interval.High, 0)
}

// FitKnee fits response times q at rates x by q = c + k/(m - x), with service time c and
// capacity m, by least squares on 1/q, which is a line for c = 0. It returns the rate at which
// q meets the limit. The interval contains the rates whose fitted 1/q is not significantly
// different from 1/limit; its ends are searched up to twice the width of the data away. It
// needs four points at three different x.
//
// Source: the tail of waiting in M/M/c, Kleinrock, Queueing Systems I, section 5.12 for one
// server, and heavy traffic for several, Kingman (1961); Gauss-Newton with the damping of
// Marquardt (1963); Fieller's (1954) argument on the linearised curve, Seber & Wild, Nonlinear
// Regression, section 5.4.
func FitKnee(x, q []float64, limit, level float64) Knee {
	out := Knee{X: math.NaN(), Interval: stat.Interval{Low: math.Inf(-1), High: math.Inf(1)}, Curvature: 1, LackOfFit: 1}
	h, ok := FitHyperbola(x, q, limit)
	if !ok {
		return out
	}
	y := make([]float64, len(q))
	for i, v := range q {
		y[i] = 1 / v
	}
	out.Floor = h.c * limit
	out.LackOfFit = stat.LackOfFit(x, y, 3, func(v float64) float64 { return h.at((v-h.centre)/h.width) / limit })
	if l, ok := stat.FitLine(h.u, h.y); ok && l.Residual > h.Residual {
		out.Curvature = stat.TwoSided(math.Sqrt((l.Residual-h.Residual)/(h.Residual/h.df)), h.df)
	}
	root := h.m - h.k/(1-h.c)
	if !(h.c < 1) || math.IsInf(root, 0) || math.IsNaN(root) {
		return out
	}
	out.X = h.centre + h.width*root
	t := stat.TQuantile(0.5+level/2, h.df)
	out.Interval.Low = h.centre + h.width*h.end(root, -1, t)
	out.Interval.High = h.centre + h.width*h.end(root, 1, t)
	return out
}

// hyperbola is y = d/(k + c*d) with d = m - u, for u = (x - centre)/width in -1..1
// and y in units of 1/limit, so that the limit is met at y = 1.
type hyperbola struct {
	m, k, c       float64
	u, y          []float64
	centre, width float64
	Residual, df  float64
	inverse       [3][3]float64 // of the normal equations
}

const floors = 6 // starting points of the search for the floor

// FitHyperbola fits the curve by least squares.
func FitHyperbola(x, q []float64, limit float64) (best hyperbola, ok bool) {
	if len(x) < 4 || len(x) != len(q) || !stat.Finite(x) || !stat.Finite(q) || !(limit > 0) {
		return best, false
	}
	low, high, fastest := x[0], x[0], math.Inf(1)
	for i, v := range x {
		low, high, fastest = math.Min(low, v), math.Max(high, v), math.Min(fastest, q[i]/limit)
	}
	h := hyperbola{centre: low + (high-low)/2, width: (high - low) / 2, df: float64(len(x) - 3)}
	if !(h.width > 0) || !(fastest > 0) {
		return best, false
	}
	for i := range x {
		h.u, h.y = append(h.u, (x[i]-h.centre)/h.width), append(h.y, limit/q[i])
	}
	best.Residual = math.Inf(1)
	for i := range floors {
		start := h
		if start.start(fastest * float64(i) / floors) {
			start.descend()
			if start.Residual < best.Residual {
				best = start
			}
		}
	}
	if math.IsInf(best.Residual, 1) {
		return best, false
	}
	m := best.normal()
	for i := range 3 {
		m.b = [3]float64{}
		m.b[i] = 1
		if best.inverse[i], ok = m.solve(3, 0); !ok {
			return best, false
		}
	}
	return best, true
}

// start fits the curve for a given floor: then 1/(q - floor) is a line; points are weighted by
// the derivative of 1/q.
func (h *hyperbola) start(floor float64) bool {
	var m normalEquations
	for i, u := range h.u {
		v := h.y[i] / (1 - floor*h.y[i])
		weight := 1 / ((1 + floor*v) * (1 + floor*v))
		m.add([3]float64{weight, weight * u}, weight*v)
	}
	p, ok := m.solve(2, 0)
	if !ok || !(p[1] < 0) {
		return false
	}
	h.c, h.k, h.m = floor, -1/p[1], -p[0]/p[1]
	h.Residual = h.score()
	return !math.IsInf(h.Residual, 1)
}

func (h hyperbola) at(u float64) float64 {
	d := h.m - u
	return d / (h.k + h.c*d)
}

func (h hyperbola) score() (sum float64) {
	if !(h.k > 0) || !(h.c >= 0) {
		return math.Inf(1)
	}
	for i, u := range h.u {
		if !(h.k+h.c*(h.m-u) > 0) {
			return math.Inf(1)
		}
		r := h.at(u) - h.y[i]
		sum += r * r
	}
	return sum
}

// slope is the gradient of the curve at u by m, k and c.
func (h hyperbola) slope(u float64) [3]float64 {
	d := h.m - u
	below := (h.k + h.c*d) * (h.k + h.c*d)
	return [3]float64{h.k / below, -d / below, -d * d / below}
}

func (h hyperbola) normal() (m normalEquations) {
	for i, u := range h.u {
		m.add(h.slope(u), h.at(u)-h.y[i])
	}
	return m
}

// descend is the damped Gauss-Newton search.
func (h *hyperbola) descend() {
	damping := 1e-3
	for range 50 {
		step, ok := h.normal().solve(3, damping)
		if !ok {
			return
		}
		next := *h
		next.m, next.k, next.c = h.m-step[0], h.k-step[1], math.Max(0, h.c-step[2])
		if next.Residual = next.score(); next.Residual <= h.Residual {
			done := h.Residual-next.Residual <= 1e-8*h.Residual
			*h, damping = next, math.Max(1e-9, damping/10)
			if done {
				return
			}
		} else if damping *= 10; damping > 1e9 {
			return
		}
	}
}

// end searches from the root for the u whose fitted y is t standard errors from the limit.
func (h hyperbola) end(root, direction, t float64) float64 {
	off := func(u float64) bool {
		if !(h.k+h.c*(h.m-u) > 0) {
			return true
		}
		row := h.slope(u)
		var v float64
		for i := range row {
			for j := range row {
				v += row[i] * h.inverse[i][j] * row[j]
			}
		}
		return math.Abs(h.at(u)-1) > t*math.Sqrt(math.Max(0, v)*h.Residual/h.df)
	}
	const steps, far = 100, 4.0
	inside := root
	for i := range steps {
		outside := root + direction*far*float64(i+1)/steps
		if !off(outside) {
			inside = outside
			continue
		}
		for range 40 {
			if mid := (inside + outside) / 2; off(mid) {
				outside = mid
			} else {
				inside = mid
			}
		}
		return inside
	}
	return math.Inf(int(direction))
}
