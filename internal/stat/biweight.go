package stat

import (
	"math"
	"slices"
)

// mostColumns is the largest number of columns of a regression.
const mostColumns = 5

// A vector has one number, and a matrix one row, per column of a regression.
type (
	vector [mostColumns]float64
	matrix [mostColumns]vector
)

// regression is a linear model of y on the first columns of x.
type regression struct {
	y        []float64
	x        []vector
	columns  int
	start    vector // robust initial coefficients
	ordered  bool   // the second column is the order within the block
	adjusted bool   // the last column is the covariate
}

// fitted is a regression with its coefficients, the weight of each value and the
// covariance of the coefficients.
type fitted struct {
	regression
	beta       vector
	weights    []float64
	covariance matrix
	known      bool // the covariance
}

func (f *fitted) se(column int) float64 {
	if !f.known {
		return math.Inf(1)
	}
	return math.Sqrt(f.covariance[column][column])
}

const (
	biweightRounds = 50
	biweightClose  = 1e-10 // change of a coefficient, in units of scale, at which the iteration has converged
	// leastSlope is the smallest mean derivative of the biweight's influence function from
	// which a standard error is computed: below it, too few values have weight.
	leastSlope = 0.2
	singular   = 1e-12 // remaining share of a pivot below which a matrix counts as singular
)

// fit solves the regression by iteratively reweighted least squares. Where most residuals are
// equal, as those of a coarse metric, all weights are 1.
func (r *regression) fit(t tuning) fitted {
	f := fitted{regression: *r, beta: r.start, weights: make([]float64, len(r.y))}
	cut := t.cut * r.scale(t.quantile)
	if !(cut > 0) || !f.iterate(cut) {
		cut = math.Inf(1)
		f.iterate(cut)
	}
	f.spread(cut)
	return f
}

// scale is a robust estimate of the scale of the residuals from the initial coefficients. The
// smallest p residuals, for p coefficients, are left out: the initial fit made them small.
func (r *regression) scale(quantile float64) float64 {
	sizes := make([]float64, len(r.y))
	for i := range sizes {
		sizes[i] = math.Abs(r.residual(i, &r.start))
	}
	slices.Sort(sizes)
	p, n := r.columns, len(sizes)
	at := float64(p) + quantile*float64(n-p) - 0.5
	low := max(0, min(int(at), n-2))
	v := sizes[low] + (at-float64(low))*(sizes[low+1]-sizes[low])
	return v / (math.Sqrt2 * math.Erfinv(quantile))
}

func (r *regression) residual(i int, beta *vector) float64 {
	v := r.y[i]
	for k := range r.columns {
		v -= beta[k] * r.x[i][k]
	}
	return v
}

// iterate reweights and solves until the coefficients converge. It returns false where the
// values that have weight do not determine the coefficients.
func (f *fitted) iterate(cut float64) bool {
	for range biweightRounds {
		var a matrix
		var b vector
		for i := range f.y {
			w := biweight(f.residual(i, &f.beta) / cut)
			f.weights[i] = w
			a.add(&f.x[i], w, f.columns)
			for j := range f.columns {
				b[j] += w * f.x[i][j] * f.y[i]
			}
		}
		next, ok := a.solve(b, f.columns)
		if !ok {
			return false
		}
		var moved float64
		for k := range f.columns {
			moved = math.Max(moved, math.Abs(next[k]-f.beta[k]))
		}
		f.beta = next
		if math.IsInf(cut, 1) || moved <= biweightClose*cut {
			return true
		}
	}
	return true
}

// add adds the weighted outer product of a row with itself.
func (a *matrix) add(row *vector, weight float64, columns int) {
	for j := range columns {
		for k := range j + 1 {
			a[j][k] += weight * row[j] * row[k]
		}
	}
}

// biweight is Tukey's weight of a residual u, in units of the cut-off.
func biweight(u float64) float64 {
	if v := 1 - u*u; math.Abs(u) < 1 {
		return v * v
	}
	return 0
}

// spread computes the covariance matrix of the coefficients.
func (f *fitted) spread(cut float64) {
	n, p := len(f.y), f.columns
	if n <= p {
		return
	}
	var squares, slope float64
	var a matrix
	for i := range f.y {
		e := f.residual(i, &f.beta)
		u := e / cut
		w := biweight(u)
		f.weights[i] = w
		squares += w * w * e * e
		if math.Abs(u) < 1 {
			slope += (1 - u*u) * (1 - 5*u*u)
		}
		a.add(&f.x[i], 1, p)
	}
	slope /= float64(n)
	if slope < leastSlope {
		return
	}
	variance := squares / float64(n-p) / (slope * slope)
	for j := range p {
		var unit vector
		unit[j] = 1
		column, ok := a.solve(unit, p)
		if !ok {
			return
		}
		for k := range p {
			f.covariance[k][j] = variance * column[k]
		}
	}
	f.known = true
}

// solve solves the positive definite system whose lower triangle a holds; ok is
// false where it is singular.
//
// Source: Cholesky; Golub & Van Loan, Matrix Computations, section 4.2.
func (a *matrix) solve(b vector, p int) (x vector, ok bool) {
	var l matrix
	for i := range p {
		for j := range i + 1 {
			v := a[i][j]
			for k := range j {
				v -= l[i][k] * l[j][k]
			}
			if i > j {
				l[i][j] = v / l[j][j]
				continue
			}
			if !(v > singular*a[i][i]) {
				return x, false
			}
			l[i][i] = math.Sqrt(v)
		}
	}
	for i := range p {
		v := b[i]
		for k := range i {
			v -= l[i][k] * x[k]
		}
		x[i] = v / l[i][i]
	}
	for i := p - 1; i >= 0; i-- {
		for k := i + 1; k < p; k++ {
			x[i] -= l[k][i] * x[k]
		}
		x[i] /= l[i][i]
	}
	return x, true
}
