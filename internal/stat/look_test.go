package stat

import (
	"math"
	"testing"

	"plimsoll/internal/effort"
)

func TestCalibratedTableIsWhatTheSimulationGives(t *testing.T) {
	s := Simulations(t)
	for _, c := range calibrated {
		// Exactly in the deep tier; to within chance with few paths.
		paths, tolerance := 100_000, 0.0012
		if !effort.Full() {
			paths, tolerance = 25_000, 0.0024
		}
		if s.deep {
			paths, tolerance = tablePaths, 5.1e-6
		}
		if got := calibrate(c.looks, c.family, c.oneSided, paths); !Near(got, c.level, tolerance) {
			t.Errorf("looks %v, one-sided %t: table %.5f, simulation %.5f", c.looks, c.oneSided, c.level, got)
		}
	}
}

var plannedLooks = []int{6, 9, 13, 18, 24}

// watched goes through the looks and returns the first place against the margin
// that is decided, and the blocks it took; else what the last look says.
func watched(blocks []Block, looks []int, alpha float64) (Answer, int) {
	last := Undecided
	for _, n := range looks {
		e := Contrast(blocks[:n], alpha)
		if last = Judge(e.Low, e.High, 0.02); last == Equivalent || last == Above || last == Below {
			return last, n
		}
	}
	return last, len(blocks)
}

func TestStudiesThatStopWhenDecidedErrAsPromised(t *testing.T) {
	s := Simulations(t)
	s.N /= 4 // each goes through up to four looks
	looks := []int{9, 13, 18, 24}
	alpha := LookError(looks, 0.05)
	for _, c := range []struct {
		cv, effect         float64
		lowEnd, highEnd    float64 // share that ends different, of any size
		lowAbove, aboveEnd float64 // share that ends above the margin
		fewest, most       float64 // mean number of blocks
	}{
		{0.01, 0, 0, s.Either(0.08, 0.056), 0, 0.01, 9, 12},
		{0.02, 0, 0, s.Either(0.08, 0.056), 0, 0.01, 20, 24},
		{0.05, 0, 0, s.Either(0.08, 0.056), 0, 0.01, 22, 24},
		{0.01, 0.02, 0.5, 1.001, 0, s.Either(0.05, 0.03), 20, 24}, // at the margin
		{0.02, 0.05, 0.98, 1.001, 0.98, 1.001, 9, 14},
		{0.01, 0.05, 0.99, 1.001, 0.99, 1.001, 9, 9.5},
	} {
		r := newNormal(s.seed)
		different, above, blocks := 0.0, 0.0, 0.0
		for range s.N {
			y := independent(r, 48, shapes()[0])
			for i := range y {
				y[i] *= c.cv
			}
			a, n := watched(balancedBlocks(y, r.Uint64(), math.Log1p(c.effect)), looks, alpha)
			blocks += float64(n) / float64(s.N)
			if a != Undecided && a != Equivalent {
				different += 1 / float64(s.N)
			}
			if a == Above {
				above += 1 / float64(s.N)
			}
		}
		if different < c.lowEnd || different > c.highEnd || above < c.lowAbove || above > c.aboveEnd || blocks < c.fewest || blocks > c.most {
			t.Errorf("CV %g, effect %g: %.3f different, %.3f above, %.1f blocks; want %+v", c.cv, c.effect, different, above, blocks, c)
		}
	}
}

func TestLookErrorsHoldTogether(t *testing.T) {
	looks := []int{9, 13, 18, 24}
	for _, c := range []struct {
		looks []int
		alpha float64
		want  float64
	}{
		{looks, 0.05, 0.01877},
		{looks, 0.025, 0.0088},
		{looks, 0.02, 0.02 / 2.995}, // between two of the table: the stricter
		{looks, 0.0001, 0.000025},   // beyond the table: as if the looks were independent
		{[]int{7, 11}, 0.01, 0.005},
		{[]int{12}, 0.01, 0.01},
		{nil, 0.05, 0.05},
	} {
		if got := LookError(c.looks, c.alpha); !Near(got, c.want, 0.004*c.want) {
			t.Errorf("LookError(%v, %g) = %g, want %g", c.looks, c.alpha, got, c.want)
		}
	}
	s := Simulations(t)
	if !s.deep {
		return
	}
	for _, alpha := range []float64{0.025, 0.0125} {
		if got := 1 - calibrate(looks, 1-alpha, false, tablePaths/4); !Near(got, LookError(looks, alpha), 0.01*got) {
			t.Errorf("%g: simulation %g, table %g", alpha, got, LookError(looks, alpha))
		}
	}
}

// excursion says whether any look's interval leaves 0.
func excursion(d []float64, looks []int, level float64) bool {
	for _, n := range looks {
		if !PairedT(d[:n], level).Interval().Contains(0) {
			return true
		}
	}
	return false
}

func TestLooksKeepTheWholeOnOtherNoise(t *testing.T) {
	s := Simulations(t)
	level := LookLevel(plannedLooks)
	for _, noise := range shapes() {
		low, high := 0.015, 0.066
		if noise.name == "normal" {
			low, high = s.Nominal()
		}
		s.Within(t, noise.name, low, high, func(r *normal) float64 {
			return s.Share(func() bool { return excursion(differences(r, noise, 24, 0.01, 0), plannedLooks, level) })
		})
	}
	s.Within(t, "drift 5 %, AR 0.7, random blocks", 0.034, 0.066, func(r *normal) float64 {
		return s.Share(func() bool {
			y, seed := autoregressive(r, 48, 0.7), r.Uint64()
			d := make([]float64, 24)
			for b := range d {
				order := Shuffle(2, seed, b)
				d[b] = 0.01*(y[2*b+order[1]]-y[2*b+order[0]]) + 0.05/47*float64(order[1]-order[0])
			}
			return excursion(d, plannedLooks, level)
		})
	})
}

func TestLookingWithoutCalibrationErrs(t *testing.T) {
	s := Simulations(t)
	s.Within(t, "five looks at 95 %", 0.12, 0.17, func(r *normal) float64 {
		return s.Share(func() bool { return excursion(differences(r, shapes()[0], 24, 0.01, 0), plannedLooks, 0.95) })
	})
	every := make([]int, 25)
	for i := range every {
		every[i] = i + 6
	}
	s.Within(t, "a look at each block from 6 to 30", 0.18, 0.25, func(r *normal) float64 {
		return s.Share(func() bool { return excursion(differences(r, shapes()[0], 30, 0.01, 0), every, 0.95) })
	})
}

func TestLookLevels(t *testing.T) {
	for _, c := range []struct {
		looks []int
		want  float64
	}{
		{[]int{6, 9, 13, 18, 24}, 0.9849},
		{[]int{24, 6, 9, 13, 13, 18, 1, 0, -4}, 0.9849},
		{[]int{6, 10, 16}, 0.9791},
		{[]int{6, 12, 20, 30}, 0.9839},
		{[]int{12}, 0.95},
		{nil, 0.95},
		{[]int{1}, 0.95},
	} {
		if got := LookLevel(c.looks); !Near(got, c.want, 0.0003) {
			t.Errorf("LookLevel(%v) = %.5f, want about %.4f", c.looks, got, c.want)
		}
	}
	looks := []int{7, 300, 301, 5000}
	two, ten, one := LookLevel(looks), lookLevelAt(looks, 0.90), LookLevelOneSided(looks, 0.95)
	if !(0.97 < two && two < 0.99 && ten < one && one < two) {
		t.Errorf("levels of %v: 95 %% %.4f, 90 %% %.4f, one-sided %.4f", looks, two, ten, one)
	}
	if again := LookLevel(looks); again != two {
		t.Errorf("the same looks gave %v, then %v", two, again)
	}
	if got := lookLevelAt(looks, 2); got != 2 {
		t.Errorf("a level that is no probability comes back as it is, got %v", got)
	}
}

// Sums of many values are drawn at once; they must be as if drawn singly.
func TestSumsOfManyValues(t *testing.T) {
	s := Simulations(t)
	const n = drawnSingly + 6
	for _, c := range []struct {
		what      string
		low, high float64
		of        func(sum, squares float64) float64
	}{
		{"sum", -0.5, 0.5, func(sum, _ float64) float64 { return sum }},
		{"square of the sum", n - 4, n + 4, func(sum, _ float64) float64 { return sum * sum }},
		{"squares", n - 1, n + 1, func(_, squares float64) float64 { return squares }},
		{"spread of the squares", 2*n - 8, 2*n + 8, func(_, squares float64) float64 { return (squares - n) * (squares - n) }},
		{"sum's part in the squares", 1.8, 2.2, func(sum, squares float64) float64 { return (sum*sum/n - 1) * (squares - n) }},
	} {
		s.Within(t, c.what, c.low, c.high, func(r *normal) float64 {
			var mean float64
			for range 20_000 {
				mean += c.of(r.sums(n)) / 20_000
			}
			return mean
		})
	}
}
