package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// balancedBlocks pairs the trials y, which are in order of execution, as a study
// of two arms with balanced orders does. The effect is a log-ratio.
func balancedBlocks(y []float64, seed uint64, effect float64) []Block {
	blocks := make([]Block, len(y)/2)
	for b := range blocks {
		base := float64(2*b + Balanced(2, seed, b)[0])
		arm := float64(4*b+1) - base
		blocks[b] = Block{Base: y[int(base)], Arm: y[int(arm)] + effect, BaseAt: base, ArmAt: arm}
	}
	return blocks
}

// testbedNoise are the noises under which a contrast must keep its level: trials in
// order of execution.
var testbedNoise = map[string]func(r *normal, n int) []float64{
	"normal":    func(r *normal, n int) []float64 { return independent(r, n, shapes()[0]) },
	"student 3": func(r *normal, n int) []float64 { return independent(r, n, shapes()[1]) },
	"outliers": func(r *normal, n int) []float64 { // one trial in ten is slower by eleven standard deviations
		y := independent(r, n, shapes()[0])
		for i := range y {
			if r.Float64() < 0.1 {
				y[i] -= 11
			}
		}
		return y
	},
	"autocorrelation": func(r *normal, n int) []float64 { return autoregressive(r, n, 0.9) },
	"slot effect": func(r *normal, n int) []float64 {
		y := independent(r, n, shapes()[0])
		for i := range y {
			y[i] += 10 * float64(i%2)
		}
		return y
	},
	"drift": func(r *normal, n int) []float64 {
		y := independent(r, n, shapes()[0])
		for i := range y {
			y[i] += 5 * float64(i) / float64(n)
		}
		return y
	},
}

func independent(r *normal, n int, s shape) []float64 {
	y := make([]float64, n)
	for i := range y {
		y[i] = s.draw(r)
	}
	return y
}

func TestContrastKeepsItsLevelUnderEveryNoise(t *testing.T) {
	s := Simulations(t)
	for name, noise := range testbedNoise {
		for _, n := range some(7, 9, 18) {
			s.Within(t, fmt.Sprintf("%s, %d blocks", name, n), 0, s.Either(0.066, 0.055), func(r *normal) float64 {
				return s.Share(func() bool {
					return !Contrast(balancedBlocks(noise(r, 2*n), r.Uint64(), 0), 0.05).Interval().Contains(0)
				})
			})
		}
	}
}

func TestContrastSeesThroughOutliersAndSlots(t *testing.T) {
	s := Simulations(t)
	for name, least := range map[string]float64{"normal": 0.93, "student 3": 0.97, "outliers": 0.85, "slot effect": 0.93, "drift": 0.93, "autocorrelation": 1} {
		s.Within(t, "two standard deviations and 18 blocks, "+name, least, 1, func(r *normal) float64 {
			return s.Share(func() bool {
				return Contrast(balancedBlocks(testbedNoise[name](r, 36), r.Uint64(), 1.45), 0.02).Low > 0
			})
		})
	}
}

func TestContrastOnCleanDataIsAlmostStudentsT(t *testing.T) {
	r := newNormal(5)
	blocks := balancedBlocks(independent(r, 80, shapes()[0]), 1, 3)
	e, p := Contrast(blocks, 0.05), PairedT(Differences(blocks), 0.95)
	if math.Abs(e.Mean-p.Mean) > 0.05 || math.Abs((e.High-e.Low)/(p.High-p.Low)-1) > 0.15 {
		t.Errorf("%+v, Student's t %+v", e, p)
	}
}

func TestContrastIsOfTheTwoArmsAlone(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := 3; n < 30; n++ {
		r := newNormal(rng.Uint64())
		blocks := balancedBlocks(independent(r, 2*n, shapes()[2]), uint64(n), 0.3)
		e := Contrast(blocks, 0.05)
		swapped, moved := make([]Block, n), make([]Block, n)
		for i, b := range blocks {
			swapped[i] = Block{Base: b.Arm, BaseAt: b.ArmAt, Arm: b.Base, ArmAt: b.BaseAt}
			moved[i] = Block{Base: b.Base + 7, BaseAt: b.BaseAt + 1000, Arm: b.Arm + 7, ArmAt: b.ArmAt + 1000}
		}
		if s := Contrast(swapped, 0.05); !Near(s.Mean, -e.Mean, 1e-9) || !Near(s.Low, -e.High, 1e-9) || !Near(s.P, e.P, 1e-9) {
			t.Errorf("%d blocks: %+v and swapped %+v", n, e, s)
		}
		if m := Contrast(moved, 0.05); !Near(m.Mean, e.Mean, 1e-9) || !Near(m.High, e.High, 1e-9) || m.Method != e.Method {
			t.Errorf("%d blocks: %+v and moved %+v", n, e, m)
		}
		if inside := e.Interval().Contains(0); inside != (e.P >= 0.05) && math.Abs(e.P-0.05) > 1e-9 {
			t.Errorf("%d blocks: p %g and interval %g to %g", n, e.P, e.Low, e.High)
		}
	}
}

func TestContrastRemovesTheOrder(t *testing.T) {
	var blocks []Block
	for b := range 9 {
		order := float64(1 - 2*(b%2))
		wiggle := 0.001 * float64(b%3-1)
		blocks = append(blocks, Block{Base: 1, Arm: 1.05 + 0.2*order + wiggle, BaseAt: float64(2*b) + (1-order)/2, ArmAt: float64(2*b) + (1+order)/2})
	}
	e := Contrast(blocks, 0.05)
	if !Near(e.Mean, 0.05, 0.001) || !Near(e.OrderMean, 0.2, 0.001) || e.High-e.Low > 0.01 {
		t.Errorf("%+v", e)
	}
	for _, d := range e.WithoutOrder(blocks) {
		if !Near(d, 0.05, 0.002) {
			t.Errorf("%v without the order", e.WithoutOrder(blocks))
		}
	}
}

func TestContrastNamesOutlyingBlocks(t *testing.T) {
	r := newNormal(9)
	y := independent(r, 24, shapes()[0])
	y[7] -= 40 // block 3
	if e := Contrast(balancedBlocks(y, 3, 0), 0.05); fmt.Sprint(e.Outlying) != "[3]" {
		t.Errorf("%+v", e)
	}
}

func block(base, arm, baseAt, armAt float64) Block {
	return Block{Base: base, Arm: arm, BaseAt: baseAt, ArmAt: armAt}
}

func TestContrastOfHardlyAnything(t *testing.T) {
	same := []Block{block(1, 2, 1, 2), block(1, 2, 4, 3), block(1, 2, 5, 6), block(1, 2, 8, 7)}
	for _, c := range []struct {
		what    string
		blocks  []Block
		mean    float64
		bounded bool
	}{
		{"nothing", nil, math.NaN(), false},
		{"one block", same[:1], 1, false},
		{"two blocks", same[:2], 1, false},
		{"all differences equal", same, 1, true},
		{"always the same order", []Block{block(1, 2, 1, 2), block(1, 2.1, 3, 4), block(1, 1.9, 5, 6), block(1, 2, 7, 8)}, 2 - 1, true},
		{"not a number", append([]Block{block(math.NaN(), 1, 1, 2)}, same...), math.NaN(), false},
		{"infinite", append([]Block{block(math.Inf(1), 1, 1, 2)}, same...), math.NaN(), false},
	} {
		e := Contrast(c.blocks, 0.05)
		if !Near(e.Mean, c.mean, 1e-9) || math.IsInf(e.High-e.Low, 1) == c.bounded || !(e.P >= 0 && e.P <= 1) {
			t.Errorf("%s: %+v", c.what, e)
		}
	}
	if e := Contrast([]Block{block(1, 2, 1, 2), block(1, 2.1, 3, 4), block(1, 1.9, 5, 6)}, 0.05); !math.IsNaN(e.OrderMean) {
		t.Errorf("the effect of an order that never changes: %+v", e)
	}
}

// A metric most of whose differences are equal has no scale of its own: all values
// count, and the interval has a width.
func TestContrastOfACoarseMetric(t *testing.T) {
	y := make([]float64, 36)
	for _, i := range []int{4, 9, 20, 31} {
		y[i] = 0.1
	}
	if e := Contrast(balancedBlocks(y, 3, 0), 0.05); e.High-e.Low < 0.01 {
		t.Errorf("%+v", e)
	}
}
