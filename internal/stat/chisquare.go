package stat

import "gonum.org/v1/gonum/mathext"

// ChiSquareQuantile is the value that a chi-squared variable with df degrees of freedom
// stays below with probability p, 0 < p < 1.
func ChiSquareQuantile(p, df float64) float64 { return 2 * mathext.GammaIncRegInv(df/2, p) }
