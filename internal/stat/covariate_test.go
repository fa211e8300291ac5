package stat

import (
	"fmt"
	"math"
	"testing"
)

// bursts is a share that is near nothing at most times, and stays up for some trials at others.
func bursts(r *normal, n int) []float64 {
	x := make([]float64, n)
	level := 0.
	for i := range x {
		if r.Float64() < 0.3 {
			level = 0.04 * -math.Log(1-r.Float64())
		}
		x[i] = level + 0.005*r.Float64()
	}
	return x
}

// disturbed are blocks whose values fall by slope with a share that comes in bursts, in units of the standard deviation sd of the rest. The
// arm has more of the share, and an effect.
func disturbed(r *normal, y []float64, sd, slope, more, effect float64) []Block {
	x := bursts(r, len(y))
	for i := range y {
		y[i] *= sd
	}
	blocks := balancedBlocks(y, r.Uint64(), effect)
	for i := range blocks {
		b := &blocks[i]
		b.BaseCovariate.Share, b.ArmCovariate.Share = x[int(b.BaseAt)], x[int(b.ArmAt)]+more
		b.Base, b.Arm = b.Base+slope*b.BaseCovariate.Share, b.Arm+slope*b.ArmCovariate.Share
	}
	return blocks
}

func TestContrastWithACovariateKeepsItsLevel(t *testing.T) {
	s := Simulations(t)
	for name, noise := range testbedNoise {
		for _, slope := range some(-3, -1, 0.) {
			for _, n := range some(9, 18, 24) {
				s.Within(t, fmt.Sprintf("%s, slope %g, %d blocks", name, slope, n), 0, s.Either(0.066, 0.056), func(r *normal) float64 {
					return s.Share(func() bool {
						return !Contrast(disturbed(r, noise(r, 2*n), .02, slope, 0, 0), 0.05).Interval().Contains(0)
					})
				})
			}
		}
	}
}

func TestACovariateSharpensAContrast(t *testing.T) {
	s := Simulations(t)
	above := func(without bool) func(*normal) float64 {
		return func(r *normal) float64 {
			return s.Share(func() bool {
				blocks := disturbed(r, independent(r, 18, shapes()[0]), .01, -3, 0, .05)
				for i := range blocks {
					if without {
						blocks[i].BaseCovariate, blocks[i].ArmCovariate = Covariate{}, Covariate{}
					}
				}
				return Contrast(blocks, 0.0188).Low > math.Log(1.02)
			})
		}
	}
	s.Within(t, "5 % are beyond 2 % after 9 blocks", 0.9, 1, above(false))
	s.Within(t, "the same without the covariate", 0, 0.5, above(true))
}

func TestAnArmThatChangesTheCovariateIsNotAdjusted(t *testing.T) {
	s := Simulations(t)
	unbalanced := func(more, demand float64) func(*normal) float64 {
		return func(r *normal) float64 {
			return s.Share(func() bool {
				blocks := disturbed(r, independent(r, 36, shapes()[0]), .01, -3, more, 0)
				for i := range blocks {
					blocks[i].BaseCovariate.Demand, blocks[i].ArmCovariate.Demand = 1, demand
				}
				e := Contrast(blocks, 0.05)
				if e.Slope != 0 && (e.Unbalanced || demand > 1) {
					t.Error("adjusted all the same")
				}
				return e.Unbalanced
			})
		}
	}
	s.Within(t, "equal arms", 0, 0.12, unbalanced(0, 1))
	s.Within(t, "one arm has 6 % more", 0.94, 1, unbalanced(0.06, 1))
	s.Within(t, "one arm wants a tenth more, and the share varies", 0.94, 1, unbalanced(0, 1.1))
	s.Within(t, "one arm wants a fiftieth less", 0, 0.12, unbalanced(0, .98))
}

func TestContrastWithoutAVaryingCovariateIsAsBefore(t *testing.T) {
	r := newNormal(3)
	for _, n := range []int{3, 8, 9, 24} {
		blocks := balancedBlocks(independent(r, 2*n, shapes()[0]), 1, 1)
		want := Contrast(blocks, 0.02)
		for i := range blocks {
			blocks[i].BaseCovariate, blocks[i].ArmCovariate = Covariate{Share: .2 + .001*float64(i%2)}, Covariate{Share: .2}
		}
		if got := Contrast(blocks, 0.02); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%d blocks: %+v, want %+v", n, got, want)
		}
		for i := range blocks {
			blocks[i].ArmCovariate.Share = math.NaN()
		}
		if got := Contrast(blocks, 0.02); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%d blocks, shares unknown: %+v, want %+v", n, got, want)
		}
	}
}

func TestACovariateIsOfTheTwoArmsAlone(t *testing.T) {
	adjusted := 0
	for seed := range uint64(40) {
		r := newNormal(seed)
		blocks := disturbed(r, independent(r, 30, shapes()[seed%3]), .01, -2, 0, .03)
		e := Contrast(blocks, 0.05)
		if e.Slope != 0 {
			adjusted++
		}
		swapped, raised := make([]Block, len(blocks)), make([]Block, len(blocks))
		for i, b := range blocks {
			swapped[i] = Block{Base: b.Arm, BaseAt: b.ArmAt, BaseCovariate: b.ArmCovariate, Arm: b.Base, ArmAt: b.BaseAt, ArmCovariate: b.BaseCovariate}
			raised[i] = b
			raised[i].BaseCovariate.Share += .1
			raised[i].ArmCovariate.Share += .1
		}
		if s := Contrast(swapped, 0.05); !Near(s.Mean, -e.Mean, 1e-6) || !Near(s.Low, -e.High, 1e-6) || !Near(s.Slope, e.Slope, 1e-6) {
			t.Errorf("seed %d: %+v and swapped %+v", seed, e, s)
		}
		if s := Contrast(raised, 0.05); !Near(s.Mean, e.Mean, 1e-6) || !Near(s.High, e.High, 1e-6) || !Near(s.Slope, e.Slope, 1e-6) {
			t.Errorf("seed %d: %+v and raised %+v", seed, e, s)
		}
	}
	if adjusted < 30 {
		t.Errorf("%d of 40 were adjusted", adjusted)
	}
}
