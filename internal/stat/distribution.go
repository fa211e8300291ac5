package stat

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// normalTail returns the probability that a standard normal variable exceeds z.
func normalTail(z float64) float64 { return 0.5 * math.Erfc(z/math.Sqrt2) }

// studentTail returns the probability that Student's t with df degrees of freedom
// exceeds t.
//
// Source: Abramowitz & Stegun 26.7.1.
func studentTail(t, df float64) float64 {
	tail := 0.5 * mathext.RegIncBeta(df/2, 0.5, df/(t*t+df))
	if t < 0 {
		return 1 - tail
	}
	return tail
}

// studentDensity returns the density of Student's t with df degrees of freedom.
func studentDensity(t, df float64) float64 {
	return math.Exp(logGamma((df+1)/2) - logGamma(df/2) - 0.5*math.Log(df*math.Pi) - (df+1)/2*math.Log1p(t*t/df))
}

// noncentralT returns the probability that the noncentral t with df degrees of
// freedom and noncentrality delta is at most t.
//
// Source: Lenth (1989), algorithm AS 243, with the twin series of Guenther (1978).
func noncentralT(t, df, delta float64) float64 {
	if t < 0 {
		return 1 - noncentralT(-t, df, -delta)
	}
	x := t * t / (t*t + df)
	lambda := delta * delta
	p := 0.5 * math.Exp(-0.5*lambda)
	q := math.Sqrt(2/math.Pi) * p * delta
	left := 0.5 - p // of the Poisson weights
	a, b := 0.5, 0.5*df
	rest := math.Pow(1-x, b)
	odd, even := mathext.RegIncBeta(a, b, x), 1-rest
	oddStep := 2 * rest * math.Exp(a*math.Log(x)-mathext.Lbeta(a, b))
	evenStep := b * x * rest
	sum := normalTail(delta) + p*odd + q*even
	for n := 1.0; n <= 1000; n++ {
		a++
		odd -= oddStep
		even -= evenStep
		oddStep *= x * (a + b - 1) / a
		evenStep *= x * (a + b - 0.5) / (a + 0.5)
		p *= lambda / (2 * n)
		q *= lambda / (2*n + 1)
		left -= p
		sum += p*odd + q*even
		if left < 0 || 2*left*(odd-oddStep) < 1e-12 {
			break
		}
	}
	return sum
}

// fTail returns the probability that Fisher's F with d1 and d2 degrees of freedom
// exceeds f.
func fTail(f, d1, d2 float64) float64 {
	return 1 - mathext.RegIncBeta(d1/2, d2/2, d1*f/(d1*f+d2))
}

func logGamma(x float64) float64 {
	l, _ := math.Lgamma(x)
	return l
}
