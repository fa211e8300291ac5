package stat

import (
	"cmp"
	"math"
	"slices"
)

const (
	// leastSpread is the standard deviation of a covariate from which it can matter: what
	// varies less changes values by less than the margins of studies.
	leastSpread = 0.002
	// unbalancedBelow is the p value below which a covariate counts as influenced by the arms:
	// liberal, since a missed influence biases the effect.
	unbalancedBelow = 0.1
	// mostDemand is the largest difference of demands, a logarithm: a share that is proportional to the demand then changes by a
	// twentieth.
	mostDemand = 0.05
	// slopeReach is the largest distance, in blocks, of the pairs that give a median slope.
	slopeReach = 8
)

// Covariate is a share that changes the value of a trial and that no arm influences, such as that of CPU time stolen by a hypervisor.
// The zero value is none.
type Covariate struct {
	Share  float64
	Demand float64 // what the share is of, such as the CPU time that was wanted; an arm that changes it may change the share. 0 if unknown
}

// covaries reports whether the covariate varies enough to sharpen a comparison. unbalanced reports that it does, but that arms differ in it
// or in its demand: it may be an effect of the arm, and no correction removes that.
func covaries(blocks []Block) (varies, unbalanced bool) {
	if len(blocks) < leastForTrials {
		return false, false
	}
	r := regression{columns: 1, x: make([]vector, len(blocks))}
	for i, b := range blocks {
		r.y = append(r.y, b.covariate())
		r.x[i] = vector{1, b.order()}
		if b.order() != blocks[0].order() {
			r.columns = 2
		}
	}
	if !Finite(r.y) {
		return false, false
	}
	f := fitted{regression: r, weights: make([]float64, len(r.y))}
	f.iterate(math.Inf(1))
	f.spread(math.Inf(1))
	squares := 0.
	for i := range r.y {
		squares += math.Pow(f.residual(i, &f.beta), 2)
	}
	df := float64(len(r.y) - r.columns)
	if math.Sqrt(squares/df/2) < leastSpread {
		return false, false
	}
	return true, TwoSided(f.beta[0]/f.se(0), df) < unbalancedBelow || math.Abs(demandRatio(blocks)) > mostDemand
}

// covariate is the arm's minus the baseline's.
func (b Block) covariate() float64 { return b.ArmCovariate.Share - b.BaseCovariate.Share }

// demandRatio is the logarithm of the ratio of the demands of the arms; 0 if unknown.
func demandRatio(blocks []Block) float64 {
	base, arm := 0., 0.
	for _, b := range blocks {
		base, arm = base+b.BaseCovariate.Demand, arm+b.ArmCovariate.Demand
	}
	if !(base > 0) || !(arm > 0) {
		return 0
	}
	return math.Log(arm / base)
}

// withoutCovariate are the blocks with values as they would be without the covariate, by its slope.
func withoutCovariate(blocks []Block, slope float64) []Block {
	out := slices.Clone(blocks)
	for i, b := range blocks {
		out[i].Base -= slope * b.BaseCovariate.Share
		out[i].Arm -= slope * b.ArmCovariate.Share
	}
	return out
}

// covariateSlope is the median slope of the differences within blocks against those of the covariate, from pairs of near blocks with the
// same order, weighted by their distance in the covariate.
//
// Source: Theil (1950) and Sen (1968); weights by distance, Jaeckel (1972).
func covariateSlope(blocks []Block) float64 {
	type pair struct{ slope, weight float64 }
	var all []pair
	total := 0.
	for i, a := range blocks {
		for _, b := range blocks[i+1 : min(len(blocks), i+1+slopeReach)] {
			x := b.covariate() - a.covariate()
			if a.order() == b.order() && x != 0 {
				all = append(all, pair{(b.Arm - b.Base - a.Arm + a.Base) / x, math.Abs(x)})
				total += math.Abs(x)
			}
		}
	}
	slices.SortFunc(all, func(a, b pair) int { return cmp.Compare(a.slope, b.slope) })
	sum := 0.
	for _, p := range all {
		if sum += p.weight; sum >= total/2 {
			return p.slope
		}
	}
	return 0
}

// adjustedRegressions are the regressions of blocks and of trials with the covariate as their last column.
func adjustedRegressions(blocks []Block) [2]regression {
	slope := covariateSlope(blocks)
	rest := withoutCovariate(blocks, slope)
	paired := differencesOf(rest)
	single := trialsOf(rest, &paired)
	for i, b := range blocks {
		paired.y[i] = b.Arm - b.Base
		paired.x[i][paired.columns] = b.covariate()
		single.y[2*i], single.y[2*i+1] = b.Base, b.Arm
		single.x[2*i][single.columns], single.x[2*i+1][single.columns] = b.BaseCovariate.Share, b.ArmCovariate.Share
	}
	for _, r := range []*regression{&paired, &single} {
		r.start[r.columns] = slope
		r.columns++
		r.adjusted = true
	}
	return [2]regression{paired, single}
}
