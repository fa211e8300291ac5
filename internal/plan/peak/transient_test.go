package peak

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"plimsoll/internal/effort"
	"plimsoll/internal/plan/plantest"
)

// disturbed is a server some of whose probes fail by chance, far above its limit.
func disturbed(v server, at ...int) server {
	serve := v.serve
	v.serve = func(r *rand.Rand, p Probe, i int) Result {
		if slices.Contains(at, i) {
			return judge(p, 50*limit, false)
		}
		return serve(r, p, i)
	}
	return v
}

// Transient failures cost little, and hardly lower the claim: a few in a row while the bracket is sought, as of a cold
// system, or one of the ladder.
func TestTransientFailures(t *testing.T) {
	n, seed := plantest.Repetitions(t, effort.Of(160), 500)
	queue := single("M/M/1", constant(1000))
	clean := plantest.Median(many(n, seed, asked, queue).seconds)
	for _, c := range []struct {
		at     []int
		load   float64 // at the median, as a multiple of that without failures
		claims float64 // at the median, as a share of the truth
	}{
		{[]int{0}, 1.1, .96}, {[]int{1}, 1.1, .96}, {[]int{2}, 1.1, .96}, {[]int{3}, 1.1, .96}, {[]int{4}, 2, .96}, {[]int{5}, 1.5, .95},
		{[]int{0, 1}, 2.5, .96}, {[]int{0, 1, 2}, 3.5, .96}, {[]int{1, 2}, 2.5, .96}, {[]int{1, 2, 3}, 2.5, .96}, {[]int{0, 2}, 1.1, .96},
		{[]int{7}, 1.2, .95}, {[]int{8}, 1.2, .95}, {[]int{10}, 1.2, .95}, {[]int{12}, 1.2, .95}, {[]int{14}, 1.2, .95},
	} {
		got := many(n, seed, asked, disturbed(queue, c.at...))
		what := fmt.Sprintf("failures at probes %v", c.at)
		load := plantest.Median(got.seconds) / clean
		t.Logf("%s: %s, %.2f times the load", what, got, load)
		got.word(Identified).AtLeast(t, what+": identified", .9)
		got.covered.AtLeast(t, what+": covered", .75)
		got.high.AtMost(t, what+": claimed more than 1 % too high", .02)
		if claims := plantest.Median(got.sustained); claims < c.claims || load > c.load {
			t.Errorf("%s: half of the claims are below %.3f of the truth, limit %g; %.2f times the load, limit %g", what, claims, c.claims, load, c.load)
		}
	}
}
