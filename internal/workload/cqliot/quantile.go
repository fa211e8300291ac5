package cqliot

import (
	"math"
	"math/big"
	"sync"
)

// Sensor values are Normal(sensorMean, sensorDeviation).
const (
	sensorMean      = 100
	sensorDeviation = 5
)

// steps is the resolution of the table of quantiles.
const steps = 1000

// normalTable holds the quantiles 0/1000 to 999/1000 of Normal(0, sensorDeviation), and a
// last point that value never reaches. The quantile 0 is infinite. The published sampler
// clamps it to -2^63 before it looks for infinities to remove, so that the point stays and
// one value in 999 is interpolated towards it; otherwise the table begins with 1/1000.
func normalTable(published bool) []float64 {
	if published {
		return quantiles()
	}
	return quantiles()[1:]
}

// quantiles is the published table. It is never written after it was made.
var quantiles = sync.OnceValue(func() []float64 {
	t := append(make([]float64, 0, steps+1), math.MinInt64)
	for s := 1; s < steps; s++ {
		t = append(t, -float64(sensorDeviation*math.Sqrt2)*erfcinv(2*(float64(s)/steps)))
	}
	return append(t, 0)
})

// rational is a quotient of two polynomials, their highest powers first.
type rational struct{ above, below []float64 }

func (r rational) at(x float64) float64 { return horner(r.above, x) / horner(r.below, x) }

// horner evaluates a polynomial, each product rounded.
func horner(coefficients []float64, x float64) (y float64) {
	for _, c := range coefficients {
		y = c + float64(y*x)
	}
	return y
}

// The approximations of erfcinv in double precision by J. Maddock, Boost.Math ("The inverse
// error functions"), which the library of the published workload, Apache Commons
// Statistics, evaluates.
var (
	central = rational{
		[]float64{
			-0.00538772965071242932965, 0.00822687874676915743155, 0.0219878681111168899165, -0.0365637971411762664006,
			-0.0126926147662974029034, 0.0334806625409744615033, -0.00836874819741736770379, -0.000508781949658280665617,
		},
		[]float64{
			0.000886216390456424707504, -0.00233393759374190016776, 0.0795283687341571680018, -0.0527396382340099713954, -0.71228902341542847553,
			0.662328840472002992063, 1.56221558398423026363, -1.56574558234175846809, -0.970005043303290640362, 1,
		},
	}
	middle = rational{
		[]float64{
			-3.67192254707729348546, 21.1294655448340526258, 17.445385985570866523, -44.6382324441786960818, -18.8510648058714251895,
			17.6447298408374015486, 8.37050328343119927838, 0.105264680699391713268, -0.202433508355938759655,
		},
		[]float64{
			1.72114765761200282724, -22.6436933413139721736, 10.8268667355460159008, 48.5609213108739935468, -20.1432634680485188801,
			-28.6608180499800029974, 3.9713437953343869095, 6.24264124854247537712, 1,
		},
	}
	tail = rational{
		[]float64{
			-0.681149956853776992068e-9, 0.285225331782217055858e-7, -0.679465575181126350155e-6, 0.00214558995388805277169, 0.0290157910005329060432,
			0.142869534408157156766, 0.337785538912035898924, 0.387079738972604337464, 0.117030156341995252019, -0.163794047193317060787, -0.131102781679951906451,
		},
		[]float64{
			0.01105924229346489121, 0.152264338295331783612, 0.848854343457902036425, 2.59301921623620271374,
			4.77846592945843778382, 5.38168345707006855425, 3.46625407242567245975, 1,
		},
	}
)

// erfcinv is the inverse complementary error function of 0.002 to 1.998; beyond, Boost has
// further approximations.
func erfcinv(x float64) float64 {
	if x > 1 {
		return -erfcinv(2 - x)
	}
	p, q := 1-x, x
	switch {
	case p <= 0.5:
		g := p * (p + 10)
		return float64(g*float64(float32(0.0891314744949340820313))) + float64(g*central.at(p))
	case q >= 0.25:
		return math.Sqrt(-2*log(q)) / (2.249481201171875 + middle.at(q-0.25))
	}
	y := math.Sqrt(-log(q))
	return float64(0.807220458984375*y) + float64(y*tail.at(y-1.125))
}

// log is the natural logarithm, correctly rounded: the last bit of math.Log differs between
// processors. With q = m * 2^e it is 2*artanh((m-1)/(m+1)) + e*ln(2).
func log(q float64) float64 {
	m, e := math.Frexp(q)
	sum := ln(m)
	sum.Sub(sum, new(big.Float).Mul(ln(.5), precise(float64(e)))) // ln(2) is -ln(1/2)
	v, _ := sum.Float64()
	return v
}

func precise(v float64) *big.Float { return new(big.Float).SetPrec(128).SetFloat64(v) }

// ln is the natural logarithm of m, by the series of 2*artanh((m-1)/(m+1)), for m of 0.5 to 1.
func ln(m float64) *big.Float {
	one := precise(1)
	z := new(big.Float).Quo(new(big.Float).Sub(precise(m), one), new(big.Float).Add(precise(m), one))
	square, power, sum := new(big.Float).Mul(z, z), new(big.Float).Set(z), precise(0)
	for n := 1.; n < 80; n += 2 { // 1/3^80 is 2^-126
		sum.Add(sum, new(big.Float).Quo(power, precise(n)))
		power.Mul(power, square)
	}
	return sum.Mul(sum, precise(2))
}
