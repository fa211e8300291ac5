package change

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"plimsoll/internal/effort"
)

// soon is the share of histories in which a step raises an alarm with one of the first six runs that have it, where none stood before.
func soon(t *testing.T, histories int, history func(r *rand.Rand) (x []float64, at int)) float64 {
	t.Helper()
	hits := 0
	for seed := range uint64(histories) {
		x, at := history(source(seed))
		w := Watch(x[:at+6], trendRule(seed)) // later runs cannot change what was known
		if n := len(w.Changes); n > 0 && w.Changes[n-1].Found >= at && w.Changes[n-1].At >= at-5 {
			hits++
		}
	}
	return float64(hits) / float64(histories)
}

// Histories of 200 runs with a step of 3 %, somewhere between run 30 and run 190, and 1 % between runs.
func TestAStepOfThreePercentIsFoundWithinSixRuns(t *testing.T) {
	t.Parallel()
	histories := effort.Rate(20, 1000)
	signs := []float64{1, -1}
	if !effort.Full() {
		signs = signs[:1]
	}
	for _, sign := range signs {
		rate := soon(t, histories, func(r *rand.Rand) ([]float64, int) {
			at := 30 + r.IntN(160)
			return step(noise(r, 200, 0.01), at, sign*math.Log(1.03)), at
		})
		t.Logf("%+.0f: found within six runs in %.3f of %d histories", 3*sign, rate, histories)
		if rate < 0.9 {
			t.Errorf("a step of %+.0f %% is found within six runs in %.3f of %d histories, want 0.9", 3*sign, rate, histories)
		}
	}
}

// alarms is the mean number of alarms, and of frozen changes, in histories of 500 runs.
func alarms(histories int, history func(r *rand.Rand) []float64) (raised, frozen float64) {
	for seed := range uint64(histories) {
		w := Watch(history(source(seed)), trendRule(seed))
		raised += float64(w.Alarms)
		for _, c := range w.Changes {
			if c.Frozen {
				frozen++
			}
		}
	}
	return raised / float64(histories), frozen / float64(histories)
}

// With noise of 10 % the margin keeps nothing out.
func TestNoiseRaisesAtMostOneAlarmInFiveHundredRuns(t *testing.T) {
	t.Parallel()
	histories := effort.Rate(3, 500)
	noises := []float64{0.1, 0.01}
	if !effort.Full() {
		noises = noises[:1]
	}
	for _, sd := range noises {
		raised, frozen := alarms(histories, func(r *rand.Rand) []float64 { return noise(r, 500, sd) })
		t.Logf("sd %.2f: %.3f alarms and %.3f frozen changes in 500 runs, over %d histories", sd, raised, frozen, histories)
		if limit := 1 + 2*math.Sqrt(1/float64(histories)); raised > limit && histories < 100 || raised > 1 && histories >= 100 {
			t.Errorf("sd %.2f: %.2f alarms in 500 runs", sd, raised)
		}
	}
}

// Pages of 20 series without a change, after run 40: independent ones, and those that share most of their noise, as metrics of the same runs do.
// Every change is false, so that the share of false changes is that of pages with one. An alarm in 1 % of looks would be on 18 % of pages, and
// fails from 100 pages on.
func TestPagesOfQuietSeriesSeldomHaveAChange(t *testing.T) {
	t.Parallel()
	const lines, runs, expected = 20, 40, 20 * 0.002
	pages := effort.Rate(20, 1000)
	for _, shared := range []float64{0, 0.9} {
		changes, some := 0, 0
		for page := range uint64(pages) {
			r := source(page)
			common, before := noise(r, runs, math.Sqrt(shared)), changes
			for line := range uint64(lines) {
				x := noise(r, runs, math.Sqrt(1-shared))
				for i := range x {
					x[i] += common[i]
				}
				if w := Watch(x, Rule{Alpha: 0.002, Segment: 5, Seed: page<<8 | line}); len(w.Changes) > 0 && !w.Changes[len(w.Changes)-1].Frozen {
					changes++
				}
			}
			if changes > before {
				some++
			}
		}
		n := float64(pages)
		mean, share := float64(changes)/n, float64(some)/n
		t.Logf("shared %.1f: %.4f provisional changes a page, on %.4f of %d pages", shared, mean, share, pages)
		// Lines that are all alike change together: the variance of their number is then at most 20 times its mean.
		if limit := expected + 3*math.Sqrt(lines*expected/n); mean > limit {
			t.Errorf("shared %.1f: %.3f provisional changes a page, want at most %.3f", shared, mean, expected)
		}
		if limit := expected + 3*math.Sqrt(expected*(1-expected)/n); share > limit {
			t.Errorf("shared %.1f: a provisional change on %.3f of pages, want at most %.3f", shared, share, expected)
		}
	}
}

// Other noise, larger and smaller steps, and histories that are short: what docs/trend.md says of them.
func TestWhatTheWatchDoesElsewhere(t *testing.T) {
	t.Parallel()
	histories := effort.Rate(0, 100)
	if histories < 100 {
		t.Skip("set PLIMSOLL_DEEP=1 to measure the table of docs/trend.md")
	}
	for _, c := range []struct{ sd, size float64 }{{.005, .03}, {.01, .02}, {.01, .03}, {.01, .05}, {.015, .03}, {.02, .03}, {.02, .1}} {
		for _, at := range []int{15, 30, 100, 190} {
			rate := soon(t, histories, func(r *rand.Rand) ([]float64, int) {
				return step(noise(r, 200, c.sd), at, math.Log(1+c.size)), at
			})
			t.Logf("noise %.1f %%, step %.0f %% after %d runs: within six runs in %.3f", 100*c.sd, 100*c.size, at, rate)
		}
	}
	few := histories / 4 // a rate of several alarms needs fewer
	for _, phi := range []float64{.2, .3, .5, .7} {
		raised, frozen := alarms(few, func(r *rand.Rand) []float64 { return autoregressive(r, 500, 0.01, phi) })
		dependent := 0
		for seed := range uint64(histories) {
			var w Watched
			if w.measure(autoregressive(source(seed), 100, 0.01, phi)); w.Dependent {
				dependent++
			}
		}
		t.Logf("AR(1) %.1f: %.2f alarms and %.2f frozen changes in 500 runs, over %d histories; %d of %d of 100 runs are called dependent", phi, raised, frozen, few, dependent, histories)
	}
}

// autoregressive is AR(1) noise of a standard deviation.
func autoregressive(r *rand.Rand, n int, sd, phi float64) []float64 {
	x := noise(r, n, sd)
	for i := 1; i < n; i++ {
		x[i] = phi*x[i-1] + math.Sqrt(1-phi*phi)*x[i]
	}
	return x
}

func TestDependentRunsAreCalledThat(t *testing.T) {
	t.Parallel()
	independent, dependent := 0, 0
	for seed := range uint64(60) {
		var a, b Watched
		if a.measure(noise(source(seed), 80, 0.01)); a.Dependent {
			independent++
		}
		if b.measure(autoregressive(source(seed), 80, 0.01, .6)); b.Dependent {
			dependent++
		}
	}
	if independent > 3 || dependent < 45 {
		t.Errorf("of 60 histories each, %d of independent and %d of dependent runs are called dependent", independent, dependent)
	}
}

func TestNoLaterRunMovesAFrozenChange(t *testing.T) {
	t.Parallel()
	r := source(11)
	x := step(step(step(noise(r, 105, 0.01), 25, -.04), 50, .06), 80, -.04)
	var known []Change
	provisional := 0
	for n := 3; n <= len(x); n += 5 { // a change is provisional for five points
		w := Watch(x[:n], trendRule(2))
		var frozen []Change
		for _, c := range w.Changes {
			if !c.Frozen {
				provisional++
				continue
			}
			c.Shift = 0 // which more runs make more precise
			frozen = append(frozen, c)
		}
		if len(frozen) < len(known) || !slices.Equal(frozen[:len(known)], known) {
			t.Fatalf("after %d runs %+v, frozen before: %+v", n, frozen, known)
		}
		known = frozen
	}
	if len(known) != 3 || provisional < 3 {
		t.Fatalf("%d frozen changes, want 3; %d looks with a provisional one", len(known), provisional)
	}
	for i, at := range []int{25, 50, 80} {
		if c := known[i]; c.At < at-1 || c.At > at+1 || c.Found < at+2 || c.Found > at+9 {
			t.Errorf("change %d: at %d, found with %d; want %d", i, c.At, c.Found, at)
		}
	}
}

// The same places for other units and the other direction.
func TestUnitsAndDirectionDoNotMatter(t *testing.T) {
	t.Parallel()
	x := step(noise(source(4), 80, 0.01), 50, .05)
	places := func(x []float64, rule Rule) string {
		var out string
		for _, c := range Watch(x, rule).Changes {
			out += fmt.Sprint(c.At, c.Found, c.Frozen, " ")
		}
		return out
	}
	want := places(x, trendRule(1))
	if want == "" {
		t.Fatal("no change")
	}
	for _, factor := range []float64{-1, 4} {
		y := make([]float64, len(x))
		for i, v := range x {
			y[i] = factor*v + 20
		}
		rule := trendRule(1)
		rule.Margin *= math.Abs(factor)
		if got := places(y, rule); got != want {
			t.Errorf("times %g: %s, want %s", factor, got, want)
		}
	}
}

func BenchmarkLook(b *testing.B) {
	x := step(noise(source(1), 200, 0.01), 194, .05)
	for b.Loop() {
		points(x, trendRule(1))
	}
}
