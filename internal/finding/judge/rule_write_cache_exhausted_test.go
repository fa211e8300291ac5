package judge

import (
	"math/rand/v2"
	"testing"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/table"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
)

// curves gives every trial of the case a rate over time.
func curves(c table.Case, rate func(share float64) float64) table.Case {
	rng := rand.New(rand.NewPCG(1, 2))
	c.Series = map[int]measure.Series{}
	for _, r := range c.Records {
		var s measure.Series
		for i := range 60 {
			s.Rate = append(s.Rate, rate(float64(i)/60)*(1+.03*rng.NormFloat64()))
		}
		c.Series[r.Trial] = s
	}
	return c
}

func falling(drift float64) func(*measure.Record) {
	return func(r *measure.Record) {
		r.Window.Steady, r.Window.Drift = measure.Drifting, drift
		r.Void = "no steady state: it drifts"
	}
}

func TestWriteCacheExhausted(t *testing.T) {
	const rule = "write_cache_exhausted"
	w := world{seed: 2, blocks: 3, arms: []float64{1}, cv: .01, edit: falling(-.4)}
	fires(t, w, rule, rule)
	check := func(name string, rate func(float64) float64, want finding.Grade) {
		t.Helper()
		w := w
		w.edit = nil
		f := judged(curves(w.build(), rate))
		sound(t, f)
		var got finding.Grade
		for _, e := range f.Explanations {
			if e.Rule == rule {
				got = e.Grade
				golden(t, "rule/"+rule+"_step.txt", string(e.Grade)+": "+e.Sentence.Text+"\n")
			}
		}
		if got != want {
			t.Errorf("%s: grade %q, want %q", name, got, want)
		}
	}
	check("a step down", func(at float64) float64 {
		if at > .4 {
			return 3000
		}
		return 10000
	}, finding.AccountsFor)
	check("level", func(float64) float64 { return 10000 }, "")
	check("a step up", func(at float64) float64 {
		if at > .4 {
			return 10000
		}
		return 3000
	}, "")
	check("a slope", func(at float64) float64 { return 10000 * (1 - .5*at) }, "")

	w.edit = falling(.4) // it becomes faster
	silent(t, w, rule)
	w.edit = falling(-.02) // hardly
	silent(t, w, rule)
	w.edit = falling(-.4)
	w.demand = func(int) load.Demand { // it only reads
		return load.Demand{Concurrency: 1, Classes: []load.Class{{Name: "read", Share: 1}}}
	}
	silent(t, w, rule)
}
