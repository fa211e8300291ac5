package peak

import (
	"math/rand/v2"
	"testing"
)

// The ladder is climbed once where a limit on no response time ends it sharply, or response times jump, and as often as asked where a
// curve leads to the limit or the rates are not in order.
func TestAnEdgeNeedsOneBlock(t *testing.T) {
	t.Parallel()
	sharp := func(from float64, odd int) server {
		s := single("", constant(1000))
		return server{truth: constant(from), serve: func(r *rand.Rand, p Probe, i int) Result {
			if out := s.serve(r, p, i); p.Rate <= from && (p.Phase != Rungs || p.Block > 0 || p.Level != odd) {
				return out
			}
			return Result{Rate: p.Rate, Achieved: p.Rate, Quantiles: []float64{.004}, Reason: "errors"}
		}}
	}
	jump := func(from, to float64, overloaded bool) server {
		return server{truth: constant(600), serve: func(_ *rand.Rand, p Probe, _ int) Result {
			if p.Rate <= 600 {
				return judge(p, from, false)
			}
			return judge(p, to, overloaded)
		}}
	}
	refuses := jump(.002, 1, false)
	refuses.serve = func(_ *rand.Rand, p Probe, _ int) Result {
		r := jump(.002, 1, false).serve(nil, p, 0)
		r.Reason = map[bool]string{false: "errors"}[r.Pass]
		return r
	}
	for name, c := range map[string]struct {
		server
		blocks int
	}{
		"errors from a rate on":                 {sharp(600, -100), 1},
		"a low rate fails once":                 {sharp(600, 0), 3},
		"response times rise":                   {single("", constant(1000)), 3},
		"response times jump":                   {jump(.002, 1, false), 1},
		"the server queues for ever":            {jump(.002, 10, true), 1},
		"errors where the times are missed too": {refuses, 1},
		"response times double":                 {jump(.012, .025, false), 3},
		"response times jump from near":         {jump(.012, 1, false), 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			blocks := map[int]bool{}
			inner := c.serve
			c.serve = func(r *rand.Rand, p Probe, i int) Result {
				if p.Phase == Rungs {
					blocks[p.Block] = true
				}
				return inner(r, p, i)
			}
			a, _ := run(New(asked), c.server, rand.New(rand.NewPCG(1, 7)))
			if len(blocks) != c.blocks {
				t.Errorf("%d blocks, want %d: %+v", len(blocks), c.blocks, a)
			}
			if c.blocks == 1 && (a.Word != Identified || !a.Step || !(a.Low <= 600 && 600 < a.High)) {
				t.Errorf("%+v", a)
			}
		})
	}
}
