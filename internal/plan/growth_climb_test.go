package plan_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"plimsoll/internal/plan/growth"
	"plimsoll/internal/plan/peak"
)

func TestClimb(t *testing.T) {
	for _, c := range []struct {
		name                    string
		first, step, most, true int
		centre                  int
		word                    peak.Word
		units                   int
		probes                  int // at most
	}{
		{"nothing known", 1, 1, 1000, 470, 0, peak.Identified, 470, 25},
		{"in steps", 10, 10, 1000, 474, 0, peak.Identified, 470, 20},
		{"about known", 10, 10, 1000, 474, 480, peak.Identified, 470, 8},
		{"the centre is the end", 10, 10, 1000, 474, 470, peak.Identified, 470, 8},
		{"the centre is too high", 10, 10, 1000, 474, 600, peak.Identified, 470, 22},
		{"the centre is far too low", 10, 10, 1000, 474, 400, peak.Identified, 470, 14},
		{"the centre is off the range", 10, 10, 500, 474, 5000, peak.Identified, 470, 10},
		{"never passes", 4, 4, 100, 3, 0, peak.NeverPassed, 0, 2},
		{"never passes any more", 4, 4, 100, 3, 40, peak.NeverPassed, 0, 10},
		{"never fails", 4, 4, 100, 1000, 0, peak.AboveRange, 0, 10},
		{"never fails any more", 4, 4, 100, 1000, 90, peak.AboveRange, 0, 10},
		{"the first only", 4, 4, 100, 5, 0, peak.Identified, 4, 8},
		{"all but the last", 1, 1, 64, 63, 0, peak.Identified, 63, 16},
	} {
		s := growth.Settings{First: c.first, Step: c.step, Most: c.most, Seed: 1}
		a, asked := carry(growth.NewClimb(s, c.centre), grown{c.name, linear, keeps(c.true), 0}, rand.New(rand.NewPCG(1, 2)))
		if a.Word != c.word || a.Units != c.units || len(asked) > c.probes {
			t.Errorf("%s: %+v after %d probes, want %s with %d after at most %d", c.name, a, len(asked), c.word, c.units, c.probes)
		}
		for _, s := range asked {
			if s.Units < c.first || s.Units > c.most || (s.Units-c.first)%c.step != 0 {
				t.Errorf("%s: it asks for %d", c.name, s.Units)
			}
		}
	}
}

// A system that fails by chance near its end is found within a few units, and the
// same from above as from below.
func TestClimbOfANoisySystem(t *testing.T) {
	const truth, width = 100., 3.
	passes := func(units int, r *rand.Rand) bool {
		return r.Float64() > 1/(1+math.Exp((truth-float64(units))/width))
	}
	for _, centre := range []int{0, 80, 100, 120} {
		sum := 0.
		const n = 400
		for i := range n {
			a, _ := carry(growth.NewClimb(growth.Settings{First: 1, Step: 1, Most: 500}, centre), grown{"noisy", linear, passes, 0}, rand.New(rand.NewPCG(1, uint64(i))))
			if a.Word != peak.Identified {
				t.Fatalf("centre %d: %+v", centre, a)
			}
			sum += float64(a.Units)
		}
		if mean := sum / n; mean < truth-2*width || mean > truth+2*width {
			t.Errorf("centre %d: %.1f on average, want about %g", centre, mean, truth)
		} else {
			t.Logf("centre %d: %.1f", centre, mean)
		}
	}
}

func TestClimbWhoseGeneratorFails(t *testing.T) {
	g := growth.NewClimb(growth.Settings{Most: 50}, 0)
	for {
		s, ok := g.Next()
		if !ok {
			break
		}
		g.Done(growth.Result{Metric: float64(s.Units), Pass: true, GeneratorLimited: s.Units > 10})
	}
	if a := g.Answer(); a.Word != peak.GeneratorLimited || a.Units != 0 {
		t.Errorf("%+v", a)
	}
}
