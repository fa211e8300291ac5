package stat

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// ModeratedT is PairedT for many counters measured in the same few blocks: d holds the
// log-ratios of each. With six blocks a single variance is a poor estimate, so each is shrunk
// towards the common variance of the family of counters. SD is the shrunken one, and P and the
// interval gain the prior degrees of freedom. Counters without a usable variance do not
// contribute to the family, and come back as from PairedT; with fewer than three others all
// do. family holds the prior; it is 0 if the counters share nothing.
//
// Use it for rankings of explanations, followed by BenjaminiHochberg, and PairedT for a
// headline.
//
// Source: Smyth (2004), Linear models and empirical Bayes methods, sections 3 to 6.
func ModeratedT(d [][]float64, level float64) (out []Paired, family Family) {
	out = make([]Paired, len(d))
	var lending []int
	var degrees float64
	for i, v := range d {
		out[i] = PairedT(v, level)
		if p := out[i]; p.N >= 2 && p.SD > 0 && !math.IsInf(p.Low, 0) {
			lending = append(lending, i)
			degrees += float64(p.N - 1)
		}
	}
	if len(lending) < 3 {
		return out, family
	}
	lent, variance := familyVariance(out, lending)
	for _, i := range lending {
		df := float64(out[i].N - 1)
		sd := math.Sqrt(variance)
		if !math.IsInf(lent, 1) {
			sd = math.Sqrt((lent*variance + df*out[i].SD*out[i].SD) / (lent + df))
		}
		// The prior cannot add more degrees of freedom than the family has.
		out[i] = out[i].withSpread(sd, math.Min(df+lent, degrees), level)
	}
	family = Family{Counters: len(lending), DF: lent, SD: math.Sqrt(variance)}
	if math.IsInf(lent, 1) {
		family.DF = 0
	}
	return out, family
}

// Family is the prior distribution of the variances of counters.
type Family struct {
	Counters int
	DF       float64 // prior degrees of freedom; 0 stands for infinitely many
	SD       float64 // prior standard deviation of one difference
}

// familyVariance fits the prior of the family's variances: variance times lent over
// chi-squared with lent degrees of freedom. lent is infinite when the variances differ no more
// than by chance.
func familyVariance(of []Paired, lending []int) (lent, variance float64) {
	logs := make([]float64, len(lending))
	var chance float64 // sampling variance of ln s^2, mean over counters
	for j, i := range lending {
		half := float64(of[i].N-1) / 2
		logs[j] = 2*math.Log(of[i].SD) - mathext.Digamma(half) + math.Log(half)
		chance += trigamma(half) / float64(len(lending))
	}
	mean, squares := Moments(logs)
	excess := squares/float64(len(logs)-1) - chance
	if !(excess > 0) {
		return math.Inf(1), math.Exp(mean)
	}
	half := inverseTrigamma(excess)
	return 2 * half, math.Exp(mean + mathext.Digamma(half) - math.Log(half))
}

// trigamma returns the derivative of digamma. Source: Abramowitz & Stegun 6.4.10.
func trigamma(x float64) float64 { return mathext.Zeta(2, x) }

// inverseTrigamma solves trigamma(y) = x for x > 0 by Newton's method on its reciprocal, which
// is nearly linear. Source: Smyth (2004), appendix.
func inverseTrigamma(x float64) float64 {
	switch {
	case x > 1e7:
		return 1 / math.Sqrt(x)
	case x < 1e-6:
		return 1 / x
	}
	y := 0.5 + 1/x
	for range 50 {
		tri := trigamma(y)
		step := tri * (1 - tri/x) / (-2 * mathext.Zeta(3, y))
		y += step
		if -step/y < 1e-8 {
			break
		}
	}
	return y
}
