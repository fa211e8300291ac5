package stat

import "gonum.org/v1/gonum/mathext"

// ChiSquareQuantile is the p quantile, 0 < p < 1, of the chi-squared distribution with df
// degrees of freedom.
func ChiSquareQuantile(p, df float64) float64 { return 2 * mathext.GammaIncRegInv(df/2, p) }
