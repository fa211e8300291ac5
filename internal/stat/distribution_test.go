package stat

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

func TestDistributionsAgainstAnotherLibrary(t *testing.T) {
	agree := func(what string, got, want float64) {
		t.Helper()
		if !(math.Abs(got-want) <= 1e-11+1e-9*math.Abs(want)) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	for _, x := range []float64{-12, -3.1, -1, -0.2, 0, 1e-9, 0.4, 1.96, 5, 30} {
		agree("normal", normalTail(x), distuv.UnitNormal.Survival(x))
		for _, df := range []float64{0.5, 1, 2, 3.7, 10, 99, 900} {
			agree("Student's t", studentTail(x, df), distuv.StudentsT{Sigma: 1, Nu: df}.Survival(x))
			agree("its density", studentDensity(x, df), distuv.StudentsT{Sigma: 1, Nu: df}.Prob(x))
			agree("Fisher's F", fTail(math.Abs(x), 3, df), distuv.F{D1: 3, D2: df}.Survival(math.Abs(x)))
			for _, delta := range []float64{-4, -0.5, 0, 0.3, 2, 9, 30} {
				agree("noncentral t", noncentralT(x, df, delta), distuv.NoncentralT{Nu: df, Mu: delta}.CDF(x))
			}
		}
	}
}
