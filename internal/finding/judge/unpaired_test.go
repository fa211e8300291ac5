package judge

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/compare"
	"plimsoll/internal/measure"
	"plimsoll/internal/stat"
)

func sideOf(label string, n int, iops float64, seed uint64) compare.Run {
	rng := rand.New(rand.NewPCG(seed, 8))
	r := compare.Run{Label: label, Metrics: []measure.Metric{
		{Name: "iops", Unit: "1/s", Better: measure.HigherIsBetter}, {Name: "p99", Unit: "s", Better: measure.LowerIsBetter},
		{Name: "errors", Unit: "1/s", Better: measure.LowerIsBetter},
	}, Values: map[string][]float64{}}
	for range n {
		x := iops * math.Exp(.01*rng.NormFloat64())
		r.Values["iops"] = append(r.Values["iops"], x)
		r.Values["p99"] = append(r.Values["p99"], 8/x)
		r.Values["errors"] = append(r.Values["errors"], 0)
	}
	return r
}

func TestCompareRuns(t *testing.T) {
	f := Runs(sideOf("before.json", 8, 1000, 1), sideOf("after.json", 7, 1100, 2), compare.Terms{Headline: []string{"iops"}, Margin: .02})
	sound(t, f)
	h := f.Headlines[0]
	if len(f.Headlines) != 1 || h.Verdict != finding.Better || !h.NotRandomised || h.Blocks != 7 || h.Low > 1.1 || h.High < 1.1 {
		t.Errorf("%+v", f.Headlines)
	}
	if f.Certificate[0].Name != "order randomised" || f.Certificate[0].State != measure.Fail {
		t.Errorf("%+v", f.Certificate)
	}
	for _, e := range f.Exploratory {
		if e.Verdict == finding.Better || e.Verdict == finding.Worse || !e.NotRandomised {
			t.Errorf("%+v", e)
		}
	}
	golden(t, "verdict/unpaired.txt", f.Sentence.Text+"\n")

	w := stat.Welch(compare.Logs(sideOf("", 8, 1000, 1).Values["iops"]), compare.Logs(sideOf("", 7, 1100, 2).Values["iops"]), .95)
	if math.Abs(math.Log(h.Low)-w.Low) > 1e-12 || h.P != w.P {
		t.Errorf("%+v is not Welch's %+v", h, w)
	}
}

func TestCompareRunsOfOneTrialDecidesNothing(t *testing.T) {
	f := Runs(sideOf("a", 1, 1000, 1), sideOf("b", 1, 2000, 2), compare.Terms{Margin: .02})
	sound(t, f)
	for _, h := range f.Headlines {
		if h.Verdict != finding.NotEnoughRuns || !h.NoInterval {
			t.Errorf("%+v", h)
		}
	}
	golden(t, "verdict/unpaired_single.txt", f.Sentence.Text+"\n")
}

func TestCompareRunsWithoutAnythingInCommon(t *testing.T) {
	a, b := sideOf("a", 6, 1000, 1), sideOf("b", 6, 2000, 2)
	b.Values = nil
	f := Runs(a, b, compare.Terms{Margin: .02})
	if len(f.Headlines) != 0 || strings.Contains(f.Sentence.Text, "?") {
		t.Errorf("%+v", f)
	}
}
