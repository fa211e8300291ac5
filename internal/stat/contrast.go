package stat

import (
	"math"
	"slices"
)

// Block holds one trial of each of two arms in the same block, as natural logarithms, with the
// position of each in the execution order.
type Block struct {
	Base, Arm                   float64
	BaseAt, ArmAt               float64
	BaseCovariate, ArmCovariate Covariate
}

// Method is the regression that a contrast came from.
type Method string

// The methods.
const (
	ByBlock Method = "blocks" // differences within blocks, regressed on the order within the block
	ByTrial Method = "trials" // single trials, regressed on the arm, the order within the block and time
)

// Effect is the difference between two arms with its confidence interval, on the log scale.
type Effect struct {
	N          int     // blocks
	Mean       float64 // NaN without blocks
	Low, High  float64 // infinite if undetermined
	SE         float64 // standard error of Mean
	DF         float64 // degrees of freedom of SE
	Critical   float64 // half-width of the interval in standard errors
	P          float64 // two-sided, of no difference; 1 if undetermined
	Method     Method
	Order      Interval // effect of running second in a block, at the level of the contrast
	OrderMean  float64  // its estimate; NaN if all blocks have the same order
	Outlying   []int    // blocks, from 0, with a trial of weight 0
	Slope      float64  // change with the covariate from 0 to 1; 0 if the estimate is not adjusted for it
	Unbalanced bool     // the covariate varies, but the arms differ in it or in its demand: the estimate is not adjusted
	Far        [2]int   // trials of the baseline and of the arm with weight 0 in the regression of trials; -1 without that regression
}

// tuning sets how a regression treats outliers: values more than cut scales away have weight
// 0, and the scale is the quantile of the absolute residuals over that of the normal
// distribution.
type tuning struct{ cut, quantile float64 }

var (
	blockTuning = tuning{cut: 7, quantile: 0.75}
	trialTuning = tuning{cut: 5.5, quantile: 0.60}
)

// leastForTrials is the fewest blocks from which single trials are compared.
const leastForTrials = 9

// widening is the factor by which the intervals of Contrast are wider than those of Student's
// t. It keeps the coverage although the narrowest of several intervals is chosen and noise is not
// normal. It was fitted to simulations, which `go run ./bench truth` repeats.
func widening(blocks int, adjusted bool) float64 {
	switch {
	case blocks < leastForTrials:
		return 1
	case adjusted:
		return 1 + 2.5/float64(blocks)
	}
	return 1 + 1.25/float64(blocks)
}

// Contrast compares two arms at the two-sided error alpha. Two regressions are fitted by
// Tukey's biweight: differences within blocks on the order within the block, and single trials
// on arm, order and time. The narrower interval is returned; the choice depends on the
// residuals, not on the effect. The first is robust to noise that neighbouring trials share,
// the second to outlying trials, which affect twice as many differences. Both include the
// effect of the order, which costs one degree of freedom. Where a covariate varies, and no arm has
// more of it, both are fitted with and without it, and the narrowest of four intervals is returned.
//
// Source: Beaton & Tukey (1974), biweight; Kafadar (1982), intervals from it; Huber (1981),
// section 7.6, standard errors of a robust regression.
func Contrast(blocks []Block, alpha float64) Effect {
	n := len(blocks)
	unknown := Effect{N: n, Mean: math.NaN(), Low: math.Inf(-1), High: math.Inf(1), SE: math.Inf(1), P: 1, Method: ByBlock, OrderMean: math.NaN(), Order: Interval{math.Inf(-1), math.Inf(1)}, Far: [2]int{-1, -1}}
	if n == 0 || !known(blocks) {
		return unknown
	}
	best := unknown
	paired := differencesOf(blocks)
	best.Mean, _ = Moments(paired.y)
	if n < 3 {
		return best
	}
	fits := []fitted{paired.fit(blockTuning)}
	if n >= leastForTrials {
		single := trialsOf(blocks, &paired)
		fits = append(fits, single.fit(trialTuning))
		unknown.Far = fits[1].far()
	}
	varies, unbalanced := covaries(blocks)
	if unknown.Unbalanced = unbalanced; varies && !unbalanced {
		r := adjustedRegressions(blocks)
		fits = append(fits, r[0].fit(blockTuning), r[1].fit(trialTuning))
	}
	for i, f := range fits {
		e := unknown
		e.Method = []Method{ByBlock, ByTrial}[i%2]
		if f.adjusted {
			e.Far = fits[3].far()
		}
		e.take(f, alpha, len(fits) > 2)
		if i == 0 || e.High-e.Low < best.High-best.Low {
			best = e
		}
	}
	return best
}

// Differences returns the arm's logarithm minus the baseline's, one per block.
func Differences(blocks []Block) []float64 {
	d := make([]float64, len(blocks))
	for i, b := range blocks {
		d[i] = b.Arm - b.Base
	}
	return d
}

// WithoutOrder returns the differences within the blocks, minus the effects of the order and of the covariate.
func (e Effect) WithoutOrder(blocks []Block) []float64 {
	if e.Slope != 0 {
		blocks = withoutCovariate(blocks, e.Slope)
	}
	d := Differences(blocks)
	if !math.IsNaN(e.OrderMean) {
		for i, b := range blocks {
			d[i] -= e.OrderMean * b.order()
		}
	}
	return d
}

// take sets the fields that follow from a fit. The first column is the effect, the second, if
// any, the order. chosen reports that regressions with the covariate were tried.
func (e *Effect) take(f fitted, alpha float64, chosen bool) {
	e.Mean, e.SE, e.DF = f.beta[0], f.se(0), float64(len(f.y)-f.columns)
	wide := widening(e.N, chosen)
	e.Critical = wide * TQuantile(1-alpha/2, e.DF)
	h := 0.0
	if e.SE > 0 {
		h = e.Critical * e.SE
	}
	e.Low, e.High = e.Mean-h, e.Mean+h
	e.P = TwoSided(e.Mean/e.SE/wide, e.DF)
	if f.ordered {
		h := e.Critical * f.se(1)
		e.OrderMean, e.Order = f.beta[1], Interval{f.beta[1] - h, f.beta[1] + h}
	}
	if f.adjusted {
		e.Slope = f.beta[f.columns-1]
	}
	per := len(f.y) / e.N
	for i, w := range f.weights {
		if b := i / per; w == 0 && (len(e.Outlying) == 0 || e.Outlying[len(e.Outlying)-1] != b) {
			e.Outlying = append(e.Outlying, b)
		}
	}
}

// far counts the trials with weight 0 in a regression of trials, by arm.
func (f *fitted) far() (trials [2]int) {
	for i, w := range f.weights {
		if w == 0 {
			trials[i%2]++
		}
	}
	return trials
}

func known(blocks []Block) bool {
	for _, b := range blocks {
		if !Finite([]float64{b.Base, b.Arm, b.Arm - b.Base}) {
			return false
		}
	}
	return true
}

// order is 1 where the arm ran after the baseline, and -1 where before.
func (b Block) order() float64 {
	if b.ArmAt < b.BaseAt {
		return -1
	}
	return 1
}

// differencesOf is the regression of the differences. If all blocks have the same order, its
// effect cannot be separated and is left out.
func differencesOf(blocks []Block) regression {
	r := regression{y: Differences(blocks), x: make([]vector, len(blocks)), columns: 2}
	var first, second []float64
	for i, b := range blocks {
		r.x[i] = vector{1, b.order()}
		if b.order() < 0 {
			first = append(first, r.y[i])
		} else {
			second = append(second, r.y[i])
		}
	}
	if r.ordered = first != nil && second != nil; !r.ordered {
		r.columns, r.start = 1, vector{medianOf(r.y)}
		return r
	}
	low, high := medianOf(first), medianOf(second)
	r.start = vector{(low + high) / 2, (high - low) / 2}
	return r
}

// trialsOf is the regression of single trials on arm, order, level and time. Its initial
// coefficients are medians, which are robust to outliers.
func trialsOf(blocks []Block, paired *regression) regression {
	n := len(blocks)
	r := regression{y: make([]float64, 0, 2*n), x: make([]vector, 0, 2*n), columns: 3, ordered: paired.ordered}
	arm, order, slope := paired.start[0], 0.0, slopeOf(blocks)
	if r.ordered {
		r.columns, order = 4, paired.start[1]
	}
	origin := (blocks[0].BaseAt + blocks[n-1].BaseAt) / 2
	rest := make([]float64, 0, 2*n)
	for _, b := range blocks {
		for side, v := range [2]float64{b.Base, b.Arm} {
			half := float64(side) - 0.5
			at := [2]float64{b.BaseAt, b.ArmAt}[side] - origin
			row := vector{half, 1, at}
			if r.ordered {
				row = vector{half, half * b.order(), 1, at}
			}
			r.y, r.x = append(r.y, v), append(r.x, row)
			rest = append(rest, v-slope*at-half*(arm+order*b.order()))
		}
	}
	if level := medianOf(rest); r.ordered {
		r.start = vector{arm, order, level, slope}
	} else {
		r.start = vector{arm, level, slope}
	}
	return r
}

// slopeOf is the median slope between blocks that are half of the study apart.
func slopeOf(blocks []Block) float64 {
	half := len(blocks) / 2
	var slopes []float64
	for i := 0; i+half < len(blocks); i++ {
		a, b := blocks[i], blocks[i+half]
		if time := b.BaseAt + b.ArmAt - a.BaseAt - a.ArmAt; time != 0 {
			slopes = append(slopes, (b.Base+b.Arm-a.Base-a.Arm)/time)
		}
	}
	if slopes == nil {
		return 0
	}
	return medianOf(slopes)
}

// medianOf is the median of x, which must not be empty.
func medianOf(x []float64) float64 {
	s := slices.Sorted(slices.Values(x))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}
