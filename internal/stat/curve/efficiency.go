package curve

import (
	"math"

	"plimsoll/internal/stat"
)

// Efficiency returns the scale-out efficiency X(n)/(n*X(1)) and its interval at the confidence
// level; 1 is linear scaling. one and many hold the throughput of each run with one unit and
// with n units. Runs are not paired; within blocks EfficiencyPaired is narrower. Without two
// positive values in each the interval is 0 to infinity.
//
// Source: the definition of speed-up divided by size, Gunther, Guerrilla Capacity Planning,
// chapter 4; interval of Welch (1947) on logarithms.
func Efficiency(one, many []float64, n, level float64) (share float64, i stat.Interval) {
	a, okA := logs(one)
	b, okB := logs(many)
	if !okA || !okB || !(n > 0) {
		return math.NaN(), stat.Interval{Low: 0, High: math.Inf(1)}
	}
	return perUnit(stat.Welch(a, b, level), n)
}

// EfficiencyPaired is Efficiency for runs in blocks: one[b] and many[b] were
// measured in block b.
//
// Source: as Efficiency, with the interval of Student (1908) on paired logarithms.
func EfficiencyPaired(one, many []float64, n, level float64) (share float64, i stat.Interval) {
	a, okA := logs(one)
	b, okB := logs(many)
	if !okA || !okB || !(n > 0) || len(a) != len(b) {
		return math.NaN(), stat.Interval{Low: 0, High: math.Inf(1)}
	}
	d := make([]float64, len(a))
	for i := range a {
		d[i] = b[i] - a[i]
	}
	return perUnit(stat.PairedT(d, level), n)
}

func perUnit(p stat.Paired, n float64) (share float64, i stat.Interval) {
	return math.Exp(p.Mean) / n, stat.Interval{Low: math.Exp(p.Low) / n, High: math.Exp(p.High) / n}
}

// logs returns the logarithms; ok is false for values that are not positive, and for none.
func logs(x []float64) (out []float64, ok bool) {
	out = make([]float64, len(x))
	for i, v := range x {
		if !(v > 0) || math.IsInf(v, 1) {
			return nil, false
		}
		out[i] = math.Log(v)
	}
	return out, len(x) > 0
}
