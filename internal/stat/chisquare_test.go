package stat

import "testing"

// Values of the table in the NIST/SEMATECH e-Handbook, section 1.3.6.7.4.
func TestChiSquareQuantile(t *testing.T) {
	for _, c := range []struct{ p, df, want float64 }{{.025, 10, 3.247}, {.975, 10, 20.483}, {.95, 1, 3.841}, {.5, 2, 1.386}, {.99, 100, 135.807}} {
		if got := ChiSquareQuantile(c.p, c.df); !Near(got, c.want, 6e-4) {
			t.Errorf("quantile %g with %g degrees of freedom: %g, want %g", c.p, c.df, got, c.want)
		}
	}
}
