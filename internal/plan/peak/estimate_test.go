package peak

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// Quantiles of short probes are right on average, and their reciprocals too high: the
// noise is that of M/M/1 simulated request by request, in probes of 10 s.
func TestShortProbesDoNotBiasTheEstimate(t *testing.T) {
	const mu, noise, n, most = 1000, 26.7, 1000, 0.003
	truth := mu - math.Log(20)/limit
	r := rand.New(rand.NewPCG(3, 8))
	sum, found := 0., 0.
	for range n {
		var points []Point
		for level := range rungs {
			for range 3 {
				free := mu - rung(truth, level)
				sd := math.Sqrt(math.Log1p(math.Pow(noise/free, 2)))
				points = append(points, Point{Rate: mu - free, Seconds: math.Log(20) / free * math.Exp(sd*r.NormFloat64()-sd*sd/2)})
			}
		}
		if fit := Estimate(points, limit, .95); fit.Word == Identified {
			sum += fit.Rate / truth
			found++
		}
	}
	if bias := sum/found - 1; math.Abs(bias) > most || found < .95*n {
		t.Errorf("estimates are off by %+.2f %% on average of %.0f, allowed %.2g %%", 100*bias, found, 100*most)
	} else {
		t.Logf("off by %+.2f %% on average of %.0f", 100*bias, found)
	}
}

func TestSpansHaveNoExponent(t *testing.T) {
	for seconds, want := range map[float64]string{.0752: "75.2 ms", .9991: "999 ms", .9996: "1 s", 40: "40 s", 99.6: "100 s", 250: "250 s"} {
		if got := span(seconds); got != want {
			t.Errorf("%g s is %q, want %q", seconds, got, want)
		}
	}
}

// A server that refuses from a rate on, and is as fast at all of them.
func TestErrorsAreNamedWhereResponseTimesAreFlat(t *testing.T) {
	v := server{"flat", constant(650), func(r *rand.Rand, p Probe, _ int) Result {
		out := judge(p, 0.002*math.Exp(0.05*r.NormFloat64()), false)
		if p.Rate > 650 {
			out.Pass, out.Reason = false, "errors"
		}
		return out
	}}
	for seed := range uint64(30) {
		s := asked
		s.Seed = seed
		a, _ := run(New(s), v, rand.New(rand.NewPCG(seed, 1)))
		if a.Word != Identified || !a.Step || !(a.Low <= 650 && 650 <= a.High && a.High <= 1.03*a.Low) || a.Limiting != "errors" || !strings.Contains(a.Why, "errors") || a.Sustained > 650 {
			t.Errorf("seed %d: %v, limited by %s", seed, a, a.Limiting)
		}
	}
}
