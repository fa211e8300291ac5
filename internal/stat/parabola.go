package stat

import "math"

// Bend is where a parabola falls to a target: InversePrediction where a line is
// not the right shape.
type Bend struct {
	X         float64  // where the falling branch meets the target, in the unit of x; NaN if it does not
	Interval  Interval // of X; infinite on a side that is not bounded
	Curvature float64  // p value of the square term being 0: large where a line would do
	LackOfFit float64  // p value of the parabola being the right shape
}

// Bounded says whether the interval has both ends.
func (b Bend) Bounded() bool {
	return !math.IsNaN(b.X) && !math.IsInf(b.Interval.Low, 0) && !math.IsInf(b.Interval.High, 0)
}

// InverseParabola fits y = a + b*x + c*x^2 by least squares and returns the x at which
// the falling branch meets the target, a known number, with the interval of those
// x around it whose fitted height is not significantly different from the target. An end
// further away than twice the width of the data is not looked for. It needs four
// points at three different x.
//
// Source: Fieller's (1954) argument for a polynomial: Draper & Smith, Applied
// Regression Analysis, section 3.2; Williams, Regression Analysis (1959), chapter 6.
func InverseParabola(x, y []float64, target, level float64) Bend {
	out := Bend{X: math.NaN(), Interval: Interval{math.Inf(-1), math.Inf(1)}, Curvature: 1, LackOfFit: 1}
	p, ok := fitParabola(x, y)
	if !ok || math.IsNaN(target) || math.IsInf(target, 0) {
		return out
	}
	out.LackOfFit = lackOfFit(x, y, 3, func(v float64) float64 { return p.at((v - p.centre) / p.width) })
	out.Curvature = twoSided(p.c[2]/math.Sqrt(p.variance*p.inverse[2][2]), p.df)
	if math.IsNaN(out.Curvature) {
		out.Curvature = 1 // a perfect line
	}
	root, ok := p.falls(target)
	if !ok {
		return out
	}
	out.X = p.centre + p.width*root
	t := TQuantile(0.5+level/2, p.df)
	out.Interval.Low = p.centre + p.width*p.end(root, -1, target, t)
	out.Interval.High = p.centre + p.width*p.end(root, 1, target, t)
	return out
}

// parabola is fitted in u = (x - centre)/width, which lies in -1..1.
type parabola struct {
	c             [3]float64
	inverse       [3][3]float64 // of the normal equations
	variance, df  float64
	centre, width float64
}

func fitParabola(x, y []float64) (p parabola, ok bool) {
	if len(x) < 4 || len(x) != len(y) || !finite(x) || !finite(y) {
		return p, false
	}
	low, high := x[0], x[0]
	for _, v := range x {
		low, high = math.Min(low, v), math.Max(high, v)
	}
	p.centre, p.width, p.df = low+(high-low)/2, (high-low)/2, float64(len(x)-3)
	if !(p.width > 0) {
		return p, false
	}
	var m normalEquations
	for i := range x {
		u := (x[i] - p.centre) / p.width
		m.add([3]float64{1, u, u * u}, y[i])
	}
	if p.c, ok = m.solve(3, 0); !ok {
		return p, false
	}
	for i := range 3 {
		m.b = [3]float64{}
		m.b[i] = 1
		p.inverse[i], _ = m.solve(3, 0)
	}
	for i := range x {
		r := y[i] - p.at((x[i]-p.centre)/p.width)
		p.variance += r * r / p.df
	}
	return p, true
}

func (p parabola) at(u float64) float64 { return p.c[0] + u*(p.c[1]+u*p.c[2]) }

// falls returns the root at which the curve comes down to the target.
func (p parabola) falls(target float64) (u float64, ok bool) {
	a, b, c := p.c[2], p.c[1], p.c[0]-target
	d := b*b - 4*a*c
	if d < 0 {
		return 0, false
	}
	// The slope at the roots is +-sqrt(d); the falling one has -sqrt(d). Of the two
	// forms of the root, the one without cancellation.
	switch root := math.Sqrt(d); {
	case b <= 0 && b-root != 0:
		u = 2 * c / (root - b)
	case a != 0:
		u = (-b - root) / (2 * a)
	default:
		return 0, false
	}
	return u, true
}

// end walks from the root to where the fitted height becomes significantly
// different from the target, t standard errors away.
func (p parabola) end(root, direction, target, t float64) float64 {
	off := func(u float64) bool {
		row := [3]float64{1, u, u * u}
		var v float64
		for i := range row {
			for j := range row {
				v += row[i] * p.inverse[i][j] * row[j]
			}
		}
		return math.Abs(p.at(u)-target) > t*math.Sqrt(p.variance*v)
	}
	const steps, far = 200, 4.0
	inside := root
	for i := range steps {
		outside := root + direction*far*float64(i+1)/steps
		if !off(outside) {
			inside = outside
			continue
		}
		for range 60 {
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
