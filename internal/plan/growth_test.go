package plan_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"

	"plimsoll/internal/effort"
	"plimsoll/internal/plan/growth"
	"plimsoll/internal/plan/peak"
	"plimsoll/internal/plan/plantest"
)

// grown is a simulated system that units are added to.
type grown struct {
	name   string
	metric func(units int) float64
	passes func(units int, r *rand.Rand) bool
	noise  float64
}

func carry(g *growth.Growth, v grown, r *rand.Rand) (growth.Answer, []growth.Size) {
	defer g.Close()
	var asked []growth.Size
	for range 2000 {
		s, ok := g.Next()
		if !ok {
			break
		}
		asked = append(asked, s)
		pass := v.passes(s.Units, r)
		out := growth.Result{Metric: v.metric(s.Units) * math.Exp(v.noise*r.NormFloat64()), Pass: pass}
		if !pass {
			out.Reason = "p95"
		}
		g.Done(out)
	}
	return g.Answer(), asked
}

// A growth that was cut short, which leaves no goroutine, goes on where it was when another one
// is told its results.
func TestGrowthResumes(t *testing.T) { synctest.Test(t, growthResumes) }

func growthResumes(t *testing.T) {
	for name, start := range map[string]func() *growth.Growth{
		"complete": func() *growth.Growth { return growth.New(growth.Settings{Most: 9, Seed: 3}) },
		"a climb":  func() *growth.Growth { return growth.NewClimb(growth.Settings{Most: 500, Seed: 3}, 40) },
	} {
		result := func(s growth.Size) growth.Result {
			return growth.Result{Metric: linear(s.Units), Pass: s.Units <= 7, Reason: "p95"}
		}
		_, asked := carry(start(), grown{name, linear, keeps(7), 0}, rand.New(rand.NewPCG(1, 2)))
		for cut := range asked {
			g := start()
			for _, s := range asked[:cut] {
				g.Done(result(s))
			}
			if s, ok := g.Next(); !ok || s != asked[cut] {
				t.Fatalf("%s: after %d results %+v, want %+v", name, cut, s, asked[cut])
			}
			g.Close()
			g.Done(result(asked[cut]))
			if _, ok := g.Next(); ok {
				t.Fatalf("%s: after %d results it is closed, and asks for another", name, cut)
			}
			if a := g.Answer(); a.Word != "" || a.Runs != cut {
				t.Fatalf("%s: after %d results there is an answer already: %+v", name, cut, a)
			}
		}
		if len(asked) < 5 {
			t.Errorf("%s: %d sizes are too few to tell", name, len(asked))
		}
	}
}

func keeps(most int) func(int, *rand.Rand) bool {
	return func(units int, _ *rand.Rand) bool { return units <= most }
}

func linear(units int) float64 { return 100 * float64(units) }

// saturating rises with each unit up to a number of them, and then not at all.
func saturating(most int) func(int) float64 {
	return func(units int) float64 { return 100 * float64(min(units, most)) }
}

func TestGrowth(t *testing.T) {
	for _, c := range []struct {
		system   grown
		most     int
		word     peak.Word
		units    int
		limiting string
	}{
		{grown{"fails its quality of service", linear, keeps(7), 0.005}, 20, peak.Identified, 7, "p95"},
		{grown{"stops to gain", saturating(6), keeps(99), 0.002}, 20, peak.Identified, 6, growth.Flat},
		{grown{"falls", func(n int) float64 { return 1000 * float64(n) / (1 + 0.0204*float64(n*n)) }, keeps(99), 0.002}, 20, peak.Identified, 7, growth.Flat},
		{grown{"never ends", linear, keeps(99), 0.005}, 9, peak.AboveRange, 9, ""},
		{grown{"never passes", linear, keeps(0), 0.005}, 9, peak.NeverPassed, 0, "p95"},
		{grown{"without noise", saturating(3), keeps(99), 0}, 20, peak.Identified, 3, growth.Flat},
		{grown{"many units that scale", linear, keeps(150), 0.0005}, 200, peak.Identified, 150, "p95"},
	} {
		a, _ := carry(growth.New(growth.Settings{Most: c.most, Seed: 3}), c.system, rand.New(rand.NewPCG(1, 2)))
		if a.Word != c.word || a.Units != c.units || a.Limiting != c.limiting {
			t.Errorf("%s: %+v, want %s with %d, limited by %q", c.system.name, a, c.word, c.units, c.limiting)
		}
		if c.units > 0 && !(a.Low <= a.Metric && a.Metric <= a.High) {
			t.Errorf("%s: %g not in %g..%g", c.system.name, a.Metric, a.Low, a.High)
		}
	}
}

func TestGrowthOfNoisySystems(t *testing.T) {
	n, seed := plantest.Repetitions(t, effort.Of(200), 5_000)
	for _, c := range []struct {
		system grown
		truth  int
		exact  float64 // share of answers that must be right
	}{
		{grown{"quality of service", linear, keeps(8), 0.01}, 8, 0.99},
		{grown{"flat", saturating(6), keeps(99), 0.005}, 6, 0.90},
	} {
		var right, covered, above plantest.Rate
		var runs []float64
		for i := range n {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			a, asked := carry(growth.New(growth.Settings{Most: 30, Seed: uint64(i)}), c.system, r)
			right.Count(a.Units == c.truth)
			covered.Count(a.Low <= c.system.metric(a.Units) && c.system.metric(a.Units) <= a.High)
			above.Count(c.system.metric(a.Units) > 0 && a.Metric > 1.01*c.system.metric(c.truth))
			runs = append(runs, float64(len(asked)))
		}
		right.AtLeast(t, c.system.name+": right number of units", c.exact)
		covered.AtLeast(t, c.system.name+": interval of the metric covers", 0.93)
		above.AtMost(t, c.system.name+": metric claimed more than 1 % too high", 0.05)
		t.Logf("%s: %g runs", c.system.name, plantest.Median(runs))
	}
}

// Wherever the end is, and whatever makes it, the growth finds it, in far fewer runs than one for each size in threes.
func TestGrowthFromAnyFirstSize(t *testing.T) {
	for _, first := range []int{1, 4, 10} {
		for _, step := range []int{1, 3} {
			for end := first; end < first+40*step; end += step {
				settings := growth.Settings{First: first, Step: step, Most: first + 60*step, Seed: 3}
				for _, system := range []grown{
					{"limits", linear, keeps(end + step - 1), 0},
					{"flat", saturating(end), keeps(1 << 20), 0},
					{"falls", func(n int) float64 { return 100 * (float64(min(n, end)) - 0.02*float64(max(0, n-end))) }, keeps(1 << 20), 0},
				} {
					a, asked := carry(growth.New(settings), system, rand.New(rand.NewPCG(1, 2)))
					if a.Word != peak.Identified || a.Units != end {
						t.Fatalf("%s from %d in steps of %d: %+v, want %d", system.name, first, step, a, end)
					}
					sizes := (end-first)/step + 1
					if most := 24 + sizes; len(asked) > most {
						t.Fatalf("%s from %d in steps of %d to %d: %d runs, more than %d", system.name, first, step, end, len(asked), most)
					}
				}
			}
		}
	}
}

// A size that passes by luck while growing is found out in the fresh blocks.
func TestGrowthDropsWhatFailsAnew(t *testing.T) {
	sick := grown{"sick", linear, func(units int, r *rand.Rand) bool { return units <= 5 }, 0.001}
	g := growth.New(growth.Settings{Most: 5, Seed: 1})
	var fresh []int
	for {
		s, ok := g.Next()
		if !ok {
			break
		}
		if s.Fresh {
			fresh = append(fresh, s.Units)
		}
		g.Done(growth.Result{Metric: sick.metric(s.Units), Pass: !s.Fresh || s.Units <= 3, Reason: "p95"})
	}
	if a := g.Answer(); a.Word != peak.Identified || a.Units != 3 || math.Abs(a.Metric-300) > 1e-9 || a.Limiting != "p95" {
		t.Errorf("%+v after fresh runs of %v, want 3", a, fresh)
	}
	none := growth.New(growth.Settings{Most: 3, Seed: 1})
	for {
		s, ok := none.Next()
		if !ok {
			break
		}
		none.Done(growth.Result{Metric: 1 + float64(s.Units), Pass: !s.Fresh, Reason: "p95"})
	}
	if a := none.Answer(); a.Word != peak.NotIdentified || a.Units != 0 || !strings.Contains(a.Why, "repeated") {
		t.Errorf("%+v", a)
	}
}

func TestGrowthAndTheGenerator(t *testing.T) {
	g := growth.New(growth.Settings{Most: 9, Seed: 1})
	hiccup := true
	for {
		s, ok := g.Next()
		if !ok {
			break
		}
		spoilt := s.Units >= 5 || hiccup
		hiccup = false
		g.Done(growth.Result{Metric: linear(s.Units), Pass: true, GeneratorLimited: spoilt})
	}
	if a := g.Answer(); a.Word != peak.GeneratorLimited || a.Units != 4 || a.Limiting != "generator" {
		t.Errorf("%+v, want 4 units, limited by the generator", a)
	}
	bad := growth.New(growth.Settings{Most: 3})
	for range 3 {
		bad.Done(growth.Result{Metric: math.NaN(), Pass: true})
	}
	if a := bad.Answer(); a.Word != peak.NeverPassed || a.Limiting != "no metric" {
		t.Errorf("%+v", a)
	}
}
