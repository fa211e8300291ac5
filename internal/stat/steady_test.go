package stat

import (
	"math"
	"testing"
)

// windowShape is what 600 one-second throughputs of one trial do, as a share of
// the level that they should reach.
type windowShape struct {
	name string
	at   func(second float64) float64
}

// windowShapes are the seven of S17: a dip of 30 % at the start that fades with
// the time constant tau, and four probabilities of not being steady.
func windowShapes() []windowShape {
	warming := func(tau float64) func(float64) float64 {
		return func(t float64) float64 { return 1 - 0.3*math.Exp(-t/tau) }
	}
	return []windowShape{
		{"flat", func(float64) float64 { return 1 }},
		{"tau 40 s", warming(40)},
		{"tau 120 s", warming(120)},
		{"tau 400 s", warming(400)},
		{"10 % decline", func(t float64) float64 { return 1.05 - 0.10*t/600 }},
		{"5 % decline", func(t float64) float64 { return 1.025 - 0.05*t/600 }},
		{"late step of 5 %", func(t float64) float64 {
			if t >= 400 {
				return 0.95
			}
			return 1
		}},
	}
}

func (w windowShape) samples(r *normal, phi, sd float64) []float64 {
	x := autoregressive(r, 600, phi)
	for i := range x {
		x[i] = w.at(float64(i)) + sd*x[i]
	}
	return x
}

// gated sends windows of a shape through the cut and the gate and returns the
// share accepted, and the mean error of what is then printed, as a share.
func gated(s tier, r *normal, w windowShape) (accepted, bias float64) {
	for range s.N {
		x := w.samples(r, 0.6, 0.02)
		cut, ok := MSER5(x)
		if !ok {
			continue
		}
		if g, _ := Drift(x[cut:], 0.02); g == Steady {
			mean, _ := Moments(x[cut:])
			accepted, bias = accepted+1, bias+mean-1
		}
	}
	return accepted / float64(s.N), bias / math.Max(1, accepted)
}

func TestOnlySteadyWindowsPassTheGate(t *testing.T) {
	s := Simulations(t)
	limits := map[string][2]float64{
		"flat":             {0.90, 0.97},
		"tau 40 s":         {0.60, 0.80},
		"tau 120 s":        {0, 0.04},
		"tau 400 s":        {0, 0.01},
		"10 % decline":     {0, 0.001},
		"5 % decline":      {0, 0.01},
		"late step of 5 %": {0, 0.01},
	}
	for _, w := range windowShapes() {
		s.Within(t, "accepted, "+w.name, limits[w.name][0], limits[w.name][1], func(r *normal) float64 {
			v, _ := gated(s, r, w)
			return v
		})
	}
	for _, w := range windowShapes()[:2] {
		s.Within(t, "bias of accepted, "+w.name, -0.002, 0.002, func(r *normal) float64 {
			_, v := gated(s, r, w)
			return v
		})
	}
}

// Without a cut the mean of a window with warm-up is off by ten times as much.
func TestWarmUpBiasesAMeanWithoutCut(t *testing.T) {
	s := Simulations(t)
	w := windowShapes()[1]
	for _, c := range []struct {
		cut       int
		low, high float64
	}{{0, -0.021, -0.019}, {60, -0.006, -0.004}} {
		s.Within(t, "bias of the mean", c.low, c.high, func(r *normal) float64 {
			var sum float64
			for range 500 {
				mean, _ := Moments(w.samples(r, 0.6, 0.02)[c.cut:])
				sum += mean - 1
			}
			return sum / 500
		})
	}
}

func TestMSER5(t *testing.T) {
	step := func(n, at int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = 100 + float64(i%2)
			if i < at {
				x[i] -= 50
			}
		}
		return x
	}
	noisy := step(600, 0)
	noisy[3] = math.NaN()
	for _, c := range []struct {
		what string
		x    []float64
		cut  int
		ok   bool
	}{
		{"nothing", nil, 0, false},
		{"too short", step(49, 0), 0, false},
		{"not a number", noisy, 0, false},
		{"steps after 100", step(600, 100), 100, true},
		{"steps after 103, cut to a batch", step(604, 103), 105, true},
		{"steps after half", step(600, 400), 400, false},
		{"constant", make([]float64, 100), 0, true},
	} {
		cut, ok := MSER5(c.x)
		if cut != c.cut || ok != c.ok {
			t.Errorf("%s: cut %d, %t, want %d, %t", c.what, cut, ok, c.cut, c.ok)
		}
	}
}

// The fast search must find what the definition says.
func TestMSER5AgainstItsDefinition(t *testing.T) {
	r := newNormal(3)
	for range 200 {
		x := windowShapes()[r.IntN(7)].samples(r, 0.6, 0.02)[:50+r.IntN(550)]
		z := make([]float64, len(x)/5)
		for i := range z {
			z[i] = (x[5*i] + x[5*i+1] + x[5*i+2] + x[5*i+3] + x[5*i+4]) / 5
		}
		best, at := math.Inf(1), 0
		for d := 0; d <= len(z)-mserTail; d++ {
			_, squares := Moments(z[d:])
			if score := squares / float64((len(z)-d)*(len(z)-d)); score < best {
				best, at = score, d
			}
		}
		if cut, ok := MSER5(x); cut != 5*at || ok != (2*at <= len(z)) {
			t.Fatalf("%d samples: cut %d, %t, want %d", len(x), cut, ok, 5*at)
		}
	}
}

func TestDrift(t *testing.T) {
	ramp := func(n int, from, to float64) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = from + (to-from)*(float64(i)+0.5)/float64(n)
		}
		return x
	}
	coarse := ramp(100, 1, 1)
	for i := range coarse {
		coarse[i] += 0.5 * math.Sin(float64(i*i))
	}
	for _, c := range []struct {
		what   string
		x      []float64
		gate   Gate
		change float64
	}{
		{"constant", ramp(100, 7, 7), Steady, 0},
		{"rise of 1 %", ramp(200, 99.5, 100.5), Steady, 0.01},
		{"fall of 1 %", ramp(200, 100.5, 99.5), Steady, -0.01},
		{"rise of 3 %", ramp(200, 98.5, 101.5), Drifting, 0.03},
		{"fall of 3 %", ramp(200, 101.5, 98.5), Drifting, -0.03},
		{"ten samples", ramp(10, 98.5, 101.5), Drifting, 0.03},
		{"negative values that fall", ramp(200, -98.5, -101.5), Drifting, -0.03},
		{"too short", ramp(7, 1, 1), SteadyUnknown, math.NaN()},
		{"mean of 0", make([]float64, 100), SteadyUnknown, math.NaN()},
		{"nothing", nil, SteadyUnknown, math.NaN()},
	} {
		g, change := Drift(c.x, 0.02)
		if g != c.gate || !Near(change, c.change, 1e-9) {
			t.Errorf("%s: %d, %g, want %d, %g", c.what, g, change, c.gate, c.change)
		}
	}
	if g, _ := Drift(coarse, 0.02); g != SteadyUnknown {
		t.Errorf("noise that hides a drift: %d, want unknown", g)
	}
}

func TestSNIASteady(t *testing.T) {
	for _, c := range []struct {
		rounds []float64
		want   bool
	}{
		{[]float64{100, 100, 100, 100}, false},
		{[]float64{100, 100, 100, 100, 100}, true},
		{[]float64{900, 100, 100, 100, 100, 100}, true}, // only the last five count
		{[]float64{90, 110, 100, 110, 90}, true},        // spread exactly 20 %, no slope
		{[]float64{89, 110, 100, 110, 91}, false},       // spread 21 %
		{[]float64{95, 97.5, 100, 102.5, 105}, true},    // slope exactly 10 %
		{[]float64{94, 97, 100, 103, 106}, false},
		{[]float64{106, 103, 100, 97, 94}, false},
		{[]float64{0, 0, 0, 0, 0}, false},
		{[]float64{100, 100, math.NaN(), 100, 100}, false},
		{nil, false},
	} {
		if got := SNIASteady(c.rounds); got != c.want {
			t.Errorf("SNIASteady(%v) = %t", c.rounds, got)
		}
	}
}

func TestBatchMeans(t *testing.T) {
	got := BatchMeans([]float64{1, 2, 3, 4, 5, 6, 7}, 3)
	if want := []float64{1.5, 3.5, 6}; got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("BatchMeans = %v, want %v", got, want)
	}
	if BatchMeans([]float64{1}, 2) != nil || BatchMeans([]float64{1}, 0) != nil {
		t.Error("batches without samples")
	}
}
