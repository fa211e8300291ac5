// Package curve fits curves: the Universal Scalability Law with its forecast, the knee of a
// response time, and inverse prediction on a line.
package curve

import (
	"math"

	"plimsoll/internal/stat"
)

// USL is the Universal Scalability Law: the throughput of n units, or n users,
//
//	X(n) = Lambda*n / (1 + Sigma*(n-1) + Kappa*n*(n-1))
//
// Lambda is the throughput of one in the unit of X, Sigma the share of work that
// waits for its turn, Kappa the cost of keeping each pair in agreement; none is
// negative.
//
// Source: Gunther (1993); Guerrilla Capacity Planning (2007), chapter 4.
type USL struct{ Lambda, Sigma, Kappa float64 }

// At returns the throughput of n.
func (u USL) At(n float64) float64 {
	return u.Lambda * n / (1 + u.Sigma*(n-1) + u.Kappa*n*(n-1))
}

// PeakN returns the n of the highest throughput, sqrt((1-Sigma)/Kappa), not
// rounded. It is infinite without Kappa, and 1 where more than one never helps.
func (u USL) PeakN() float64 {
	switch {
	case u.Sigma >= 1:
		return 1
	case u.Kappa <= 0:
		return math.Inf(1)
	}
	return math.Max(1, math.Sqrt((1-u.Sigma)/u.Kappa))
}

// PeakX returns the highest throughput. For Kappa = 0 that is the asymptote Lambda/Sigma, and
// infinite if Sigma is 0 too.
func (u USL) PeakX() float64 {
	n := u.PeakN()
	if math.IsInf(n, 1) {
		return u.Lambda / u.Sigma
	}
	return u.At(n)
}

// Residuals selects the residuals that a fit minimises.
type Residuals int

// The kinds of residuals.
const (
	// RelativeResiduals are shares of the fitted throughput, for noise proportional to it: the
	// right choice for measurements.
	RelativeResiduals Residuals = iota
	// AbsoluteResiduals are in the unit of the throughput, as in most published fits; they
	// give small n little weight.
	AbsoluteResiduals
)

// FitUSL fits the law to throughputs x measured at n, by least squares on the
// given residuals with coefficients of at least 0. ok is false below three
// different n, and when a value is not above 0 or an n is below 1.
//
// Source: Gunther, chapter 5, for the model. Relative residuals x/X(n) - 1 are
// linear in 1/Lambda, Sigma/Lambda and Kappa/Lambda, so that their fit is exact;
// for absolute ones the search is that of Levenberg (1944) and Marquardt (1963).
func FitUSL(n, x []float64, kind Residuals) (u USL, ok bool) {
	if len(n) != len(x) || !stat.Finite(n) || !stat.Finite(x) {
		return USL{}, false
	}
	different := map[float64]bool{}
	for i := range n {
		if n[i] < 1 || x[i] <= 0 {
			return USL{}, false
		}
		different[n[i]] = true
	}
	if len(different) < 3 {
		return USL{}, false
	}
	f := newUSLFit(n, x, kind)
	best := math.Inf(1)
	for _, f.free = range [][]int{{0, 1, 2}, {0, 1}, {0, 2}, {0}} {
		if p, score := f.search(); score < best && p[0] > 0 && p[1] >= 0 && p[2] >= 0 {
			best = score
			u = USL{Lambda: f.unit / p[0], Sigma: p[1] / p[0], Kappa: p[2] / p[0]}
			if len(f.free) == 3 {
				break // all free and none negative: optimal
			}
		}
	}
	return u, !math.IsInf(best, 1)
}

// uslFit fits the form X = n/(a + b*(n-1) + c*n*(n-1)), whose denominator is linear, with x in
// units of its mean.
type uslFit struct {
	n, x []float64
	kind Residuals
	unit float64
	free []int // indices of a, b, c that are not fixed at 0
}

func newUSLFit(n, x []float64, kind Residuals) uslFit {
	unit, _ := stat.Moments(x)
	f := uslFit{n: n, kind: kind, unit: unit, x: make([]float64, len(x))}
	for i, v := range x {
		f.x[i] = v / unit
	}
	return f
}

// terms are the factors of a, b and c.
func terms(n float64) [3]float64 { return [3]float64{1, n - 1, n * (n - 1)} }

// search returns the coefficients with the least sum of squares, and that sum.
func (f uslFit) search() (p [3]float64, score float64) {
	p = f.start()
	score = f.score(p)
	if f.kind == RelativeResiduals {
		return p, score
	}
	damping := 1e-3
	for range 200 {
		step, ok := f.step(p, damping)
		if !ok {
			return p, score
		}
		next := p
		var moved float64
		for j, k := range f.free {
			next[k] -= step[j]
			moved = math.Max(moved, math.Abs(step[j])/(math.Abs(p[k])+1e-12))
		}
		if s := f.score(next); s <= score {
			p, score, damping = next, s, math.Max(1e-12, damping/10)
			if moved < 1e-9 {
				break
			}
		} else if damping *= 10; damping > 1e12 {
			break
		}
	}
	return p, score
}

// start minimises the relative residuals x*(a + b*(n-1) + c*n*(n-1))/n - 1, a linear problem:
// the solution for RelativeResiduals.
func (f uslFit) start() (p [3]float64) {
	var m normalEquations
	for i, n := range f.n {
		row := f.pick(terms(n))
		for j := range row {
			row[j] *= f.x[i] / n
		}
		m.add(row, 1)
	}
	if v, ok := m.solve(len(f.free), 0); ok {
		for j, k := range f.free {
			p[k] = v[j]
		}
	}
	return p
}

func (f uslFit) pick(t [3]float64) (out [3]float64) {
	for j, k := range f.free {
		out[j] = t[k]
	}
	return out
}

// predict returns the throughput in units of the mean, and the denominator.
func predict(p [3]float64, n float64) (x, below float64) {
	t := terms(n)
	below = p[0]*t[0] + p[1]*t[1] + p[2]*t[2]
	return n / below, below
}

func (f uslFit) score(p [3]float64) (sum float64) {
	for i, n := range f.n {
		x, below := predict(p, n)
		if !(below > 0) {
			return math.Inf(1)
		}
		r := x - f.x[i]
		if f.kind == RelativeResiduals {
			r /= x
		}
		sum += r * r
	}
	return sum
}

// step is one damped Gauss-Newton step of the absolute residuals.
func (f uslFit) step(p [3]float64, damping float64) ([3]float64, bool) {
	var m normalEquations
	for i, n := range f.n {
		x, below := predict(p, n)
		slope := f.pick(terms(n))
		for j := range slope {
			slope[j] *= -x / below
		}
		m.add(slope, x-f.x[i])
	}
	return m.solve(len(f.free), damping)
}

// normalEquations are those of a least-squares problem with up to three unknowns.
type normalEquations struct {
	a [3][3]float64
	b [3]float64
}

func (m *normalEquations) add(row [3]float64, y float64) {
	for i, v := range row {
		for j, w := range row {
			m.a[i][j] += v * w
		}
		m.b[i] += v * y
	}
}

// solve solves for the first k unknowns by Cholesky factorisation, with the diagonal scaled to
// 1 and damped.
func (m normalEquations) solve(k int, damping float64) (x [3]float64, ok bool) {
	var scale [3]float64
	for i := range k {
		if !(m.a[i][i] > 0) || math.IsInf(m.a[i][i], 1) {
			return x, false
		}
		scale[i] = 1 / math.Sqrt(m.a[i][i])
	}
	var l [3][3]float64
	for i := range k {
		for j := range i + 1 {
			v := m.a[i][j] * scale[i] * scale[j]
			if i == j {
				v += damping
			}
			for t := range j {
				v -= l[i][t] * l[j][t]
			}
			if i != j {
				l[i][j] = v / l[j][j]
			} else if !(v > 1e-14) {
				return x, false
			} else {
				l[i][i] = math.Sqrt(v)
			}
		}
	}
	for i := range k {
		x[i] = m.b[i] * scale[i]
		for t := range i {
			x[i] -= l[i][t] * x[t]
		}
		x[i] /= l[i][i]
	}
	for i := k - 1; i >= 0; i-- {
		for t := i + 1; t < k; t++ {
			x[i] -= l[t][i] * x[t]
		}
		x[i] /= l[i][i]
	}
	for i := range k {
		x[i] *= scale[i]
	}
	return x, true
}
