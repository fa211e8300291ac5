package judge

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/compare"
	"plimsoll/internal/measure"
)

// neighbours takes a share of two CPUs in each trial, which slows the load three times as much. The second arm wants more CPU time by a
// ratio.
func neighbours(seed uint64, wants float64) world {
	rng := rand.New(rand.NewPCG(seed, 9))
	return world{seed: seed, blocks: 13, arms: []float64{1, 1.05}, cv: .01, values: func(arm int, r *measure.Record) {
		share, wanted := .05*rng.ExpFloat64(), 1.6
		if arm == 1 {
			wanted *= wants
		}
		r.Counters["cpu.count"], r.Counters["cpu.idle"], r.Counters["cpu.iowait"], r.Counters["cpu.steal"] = 2, 2-wanted-.1, .1, share*wanted
		r.Values["iops"] *= math.Exp(-3 * share)
	}}
}

func TestStolenTimeSharpensAHeadline(t *testing.T) {
	t.Parallel()
	c := neighbours(4, 1).build()
	f := judged(c)
	h := f.Headlines[0]
	if h.Covariate == nil || math.Abs(h.Covariate.Slope+3) > .5 || h.Verdict != finding.Better || math.Abs(h.Ratio-1.05) > .015 {
		t.Errorf("%+v, %+v", h, h.Covariate)
	}
	again := compare.Recompute(f, &h, f.Summary("iops", 0), f.Summary("iops", 1))
	if math.Abs(again.Ratio/h.Ratio-1) > 1e-9 || math.Abs(again.Low/h.Low-1) > 1e-9 || again.Covariate == nil {
		t.Errorf("recomputed %+v, the findings have %+v", again, h)
	}
	if line := stolenLine(f); !strings.Contains(line, "iops -3") && !strings.Contains(line, "iops -2.") {
		t.Errorf("the certificate says %q", line)
	}
	for i := range c.Records { // the same without the knowledge
		delete(c.Records[i].Counters, "cpu.steal")
	}
	f = judged(c)
	if plain := f.Headlines[0]; plain.Covariate != nil || plain.High/plain.Low < h.High/h.Low || stolenLine(f) != "" {
		t.Errorf("without stolen time %+v, with it %+v", plain, h)
	}
}

func TestStolenTimeOfUnequalArmsIsLeftAlone(t *testing.T) {
	t.Parallel()
	f := judged(neighbours(4, 1.1).build())
	if h := f.Headlines[0]; h.Covariate == nil || !h.Covariate.Unbalanced || h.Covariate.Slope != 0 {
		t.Errorf("an arm that wants a tenth more CPU time: %+v, %+v", h, h.Covariate)
	}
	if line := stolenLine(f); !strings.Contains(line, "not adjusted") {
		t.Errorf("the certificate says %q", line)
	}
	w := neighbours(4, 1)
	w.edit = func(r *measure.Record) { r.Parts = []measure.Part{{}} }
	if h := judged(w.build()).Headlines[0]; h.Covariate != nil {
		t.Errorf("several machines: %+v", h.Covariate)
	}
}

func stolenLine(f *finding.Findings) string {
	for _, check := range f.Certificate {
		if check.Name == "stolen CPU time" {
			return check.Detail
		}
	}
	return ""
}
