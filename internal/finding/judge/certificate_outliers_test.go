package judge

import (
	"math/rand/v2"
	"testing"

	"plimsoll/internal/effort"
	"plimsoll/internal/finding/certificate"
	"plimsoll/internal/finding/compare"
	"plimsoll/internal/finding/table"
	"plimsoll/internal/measure"
)

// The line of outlying trials accuses arms with equally many of them in at most 5 % of
// studies, and is able to fail where one trial in three of one arm is slow.
func TestOutlyingTrialsOfOneArm(t *testing.T) {
	studies := effort.Of(200)
	failed := func(shares [2]float64) int {
		n := 0
		for seed := range uint64(studies) {
			rng := rand.New(rand.NewPCG(seed, 5))
			w := world{seed: seed, blocks: 18, arms: []float64{1, 1}, cv: .02, values: func(arm int, r *measure.Record) {
				if rng.Float64() < shares[arm] {
					r.Values["iops"] *= 0.8
				}
			}}
			arranged := table.New(w.build())
			for _, check := range certificate.Of(arranged, compare.Headlines(arranged)) {
				if check.Name == "outlying trials" && check.State == measure.Fail {
					n++
				}
			}
		}
		return n
	}
	if n := failed([2]float64{.1, .1}); n > studies/20 {
		t.Errorf("%d of %d studies with as many outlying trials in both arms", n, studies)
	} else {
		t.Logf("false alarms: %d of %d", n, studies)
	}
	if n := failed([2]float64{0, .35}); n < studies/5 {
		t.Errorf("%d of %d studies with outlying trials in one arm", n, studies)
	} else {
		t.Logf("found: %d of %d", n, studies)
	}
}
