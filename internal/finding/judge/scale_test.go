package judge

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/effort"
	"plimsoll/internal/finding"
	"plimsoll/internal/finding/audit"
	"plimsoll/internal/finding/table"
	"plimsoll/internal/measure"
	"plimsoll/internal/stat/curve"
	"plimsoll/internal/study"
)

// plantedLaw has its peak near 12.
var plantedLaw = curve.USL{Lambda: 1, Sigma: .04, Kappa: .0067}

// scaling is a study of the sizes, of which the rate follows a law.
func scaling(seed uint64, sizes []int, blocks int, law curve.USL) table.Case {
	w := world{seed: seed, blocks: blocks, cv: .01}
	for _, n := range sizes {
		w.arms = append(w.arms, law.At(float64(n)))
	}
	c := w.build()
	f := &c.Study.Factors[0]
	f.Name, f.Parameter = "keyvalue.connections", "connections"
	for i, n := range sizes {
		f.Levels[i] = fmt.Sprint(n)
		c.Plan.Arms[i].Label = "keyvalue.connections=" + f.Levels[i]
		clear(c.Plan.Arms[i].Levels) // which the records share
		c.Plan.Arms[i].Levels["keyvalue.connections"] = f.Levels[i]
	}
	return c
}

// cliff is a system that two units fill, which no such law describes.
func cliff() table.Case {
	c := scaling(5, sixSizes, 6, curve.USL{Lambda: 1})
	for i := range c.Records {
		if n, _ := strconv.Atoi(c.Records[i].Levels["keyvalue.connections"]); n > 2 {
			c.Records[i].Values["iops"] *= 2 / float64(n)
		}
	}
	return c
}

var sixSizes = []int{1, 2, 4, 6, 8, 10}

func TestScaleOut(t *testing.T) {
	line := curve.USL{Lambda: 1}
	for _, c := range []struct {
		name string
		c    table.Case
	}{
		{"peak", scaling(3, sixSizes, 6, plantedLaw)},
		{"peak beyond what is said", scaling(3, []int{1, 2, 3, 4, 5, 6}, 6, plantedLaw)},
		{"three sizes", scaling(3, []int{1, 2, 4}, 6, plantedLaw)},
		{"straight line", scaling(3, sixSizes, 6, line)},
		{"cliff", cliff()},
		{"two runs", scaling(3, sixSizes, 2, plantedLaw)},
		{"one run", scaling(3, sixSizes, 1, plantedLaw)},
		{"smallest is not one", scaling(3, []int{2, 4, 8}, 6, plantedLaw)},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := judged(c.c)
			sound(t, f)
			if f.ScaleOut == nil {
				t.Fatal("no scale-out")
			}
			text := f.ScaleOut.Sentence.Text + "\n"
			if f.ScaleOut.Law != nil {
				text += f.ScaleOut.Law.Sentence.Text + "\n"
			}
			golden(t, "scale/"+strings.ReplaceAll(c.name, " ", "_")+".txt", text)
		})
	}
}

func TestScaleOutRefuses(t *testing.T) {
	for want, c := range map[string]table.Case{
		"only 3 sizes measured, a forecast needs 6":                                               scaling(5, []int{1, 2, 4}, 6, plantedLaw),
		"only 2 runs at n = 1, a forecast needs 3 at each size":                                   scaling(5, sixSizes, 2, plantedLaw),
		"the scalability law misses a measured mean by 16 %, more than run-to-run noise explains": cliff(),
		"the data allow a throughput that never falls":                                            scaling(5, sixSizes, 6, curve.USL{Lambda: 1, Sigma: .05}),
		"the data allow a throughput that never falls (ideal)":                                    scaling(5, sixSizes, 6, curve.USL{Lambda: 1}),
	} {
		o := judged(c).ScaleOut
		got := o.Refusal
		if o.Law != nil {
			got = o.Law.NoPeak
			if o.Law.Peak != nil || o.Law.PeakRate != nil {
				t.Errorf("%s: a peak is named all the same: %+v", want, o.Law)
			}
		}
		if want = strings.TrimSuffix(want, " (ideal)"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The planted law lies in the intervals about as often as they promise, and nothing is
// said beyond twice the largest size.
func TestScaleOutCovers(t *testing.T) {
	studies := effort.Of(60)
	covered := map[string]int{}
	for seed := range uint64(studies) {
		o := judged(scaling(seed+1, sixSizes, 6, plantedLaw)).ScaleOut
		if o == nil || o.Law == nil || o.Law.Peak == nil {
			t.Fatalf("seed %d: no peak", seed)
		}
		count := func(what string, e finding.Estimate, truth float64) {
			if e.Low <= truth && (truth <= e.High || e.Open) {
				covered[what]++
			}
		}
		count("lambda", o.Law.Lambda, 10000)
		count("sigma", o.Law.Sigma, plantedLaw.Sigma)
		count("kappa", o.Law.Kappa, plantedLaw.Kappa)
		count("peak", *o.Law.Peak, plantedLaw.PeakN())
		count("rate at the peak", *o.Law.PeakRate, 10000*plantedLaw.PeakX())
		count("forecast", o.Law.Reach().Rate, 10000*plantedLaw.At(20))
		last := o.Sizes[len(o.Sizes)-1]
		count("efficiency", finding.Estimate{Value: last.Efficiency, Low: last.EfficiencyLow, High: last.EfficiencyHigh, Open: false}, plantedLaw.At(10)/10)
		if n := o.Law.Reach().Units; n != 20 {
			t.Errorf("something is said of %d units", n)
		}
	}
	for _, what := range []string{"lambda", "sigma", "kappa", "peak", "rate at the peak", "forecast", "efficiency"} {
		if covered[what] < studies*85/100 {
			t.Errorf("%s: %d of %d intervals hold the truth", what, covered[what], studies)
		}
	}
	t.Log(covered)
}

// Only a rate that grows with a number of units is a scale-out.
func TestScaleOutOnlyWhereItMeansSomething(t *testing.T) {
	for name, change := range map[string]func(*table.Case){
		"two sizes": func(c *table.Case) { *c = scaling(3, []int{1, 2}, 6, plantedLaw) },
		"another factor": func(c *table.Case) {
			c.Study.Factors = append(c.Study.Factors, study.Factor{Name: "host.scheduler", Levels: []string{"none", "bfq"}})
		},
		"no units": func(c *table.Case) { c.Study.Factors[0].Name = "keyvalue.depth" },
		"half a unit": func(c *table.Case) {
			c.Study.Factors[0].Levels[1] = "1.5"
		},
		"no rate": func(c *table.Case) { c.Study.Headline = []string{"p99"} },
		"one rate for all": func(c *table.Case) {
			for arm, d := range c.Demands {
				d.Rate = 9000
				c.Demands[arm] = d
			}
		},
		"zero": func(c *table.Case) { c.Records[4].Values["iops"] = 0 },
		"void but for two sizes": func(c *table.Case) {
			for i := range c.Records {
				if c.Records[i].Arm > 1 {
					c.Records[i].Void = "errors"
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := scaling(3, sixSizes, 6, plantedLaw)
			change(&c)
			if o := judged(c).ScaleOut; o != nil {
				t.Errorf("%+v", o)
			}
		})
	}
	c := scaling(3, sixSizes, 6, plantedLaw)
	for i := range c.Records {
		c.Records[i].Values["peak"] = c.Records[i].Values["iops"]
	}
	c.Study.Headline, c.Study.Load.Rate = []string{"p99", "peak"}, 100
	if o := judged(c).ScaleOut; o == nil || o.Metric != measure.PeakMetric() {
		t.Errorf("a peak does not scale: %+v", o)
	}
}

func TestScaleOutIsAudited(t *testing.T) {
	for name, tamper := range map[string]func(*finding.ScaleOut){
		"": nil,
		"a number": func(o *finding.ScaleOut) {
			o.Sentence.Text = strings.Replace(o.Sentence.Text, o.Numbers[4].Text, "99 %", 1)
		},
		"a number, both times": func(o *finding.ScaleOut) {
			o.Sentence.Text = strings.Replace(o.Sentence.Text, o.Numbers[4].Text, "99 %", 1)
			o.Numbers[4].Text = "99 %"
		},
		"a number more": func(o *finding.ScaleOut) { o.Sentence.Text += " It doubles at 64." },
		"a number of the law": func(o *finding.ScaleOut) {
			o.Law.Sentence.Text = strings.Replace(o.Law.Sentence.Text, o.Law.Numbers[0].Text, "7/s", 1)
		},
		"the efficiency":     func(o *finding.ScaleOut) { o.Sizes[3].Efficiency *= 1.01 },
		"its interval":       func(o *finding.ScaleOut) { o.Sizes[3].EfficiencyLow *= .99 },
		"the peak":           func(o *finding.ScaleOut) { o.Law.Peak.High *= 1.1 },
		"a refusal left out": func(o *finding.ScaleOut) { o.Law.Peak, o.Law.PeakRate, o.Law.NoPeak = nil, nil, "it was forgotten" },
		"a forecast":         func(o *finding.ScaleOut) { o.Law.Curve[8].Rate.Value *= 1.2 },
		"a forecast too far": func(o *finding.ScaleOut) {
			o.Law.Curve = append(o.Law.Curve, finding.Forecast{Units: 40, Rate: finding.Estimate{Value: 1, Low: 1, High: 1}})
		},
		"an end that is beyond": func(o *finding.ScaleOut) { o.Law.PeakRate.Open = true },
	} {
		t.Run(name, func(t *testing.T) {
			f := judged(scaling(3, sixSizes, 6, plantedLaw))
			if tamper != nil {
				tamper(f.ScaleOut)
			}
			if failed := slices.ContainsFunc(audit.Of(f, nil), func(c finding.Claim) bool { return !c.Holds }); failed != (tamper != nil) {
				text, _ := json.MarshalIndent(f.ScaleOut, "", " ")
				t.Errorf("failed: %v\n%s", failed, text)
			}
		})
	}
	f := judged(scaling(3, sixSizes, 6, plantedLaw))
	for i := range f.Summaries {
		if s := &f.Summaries[i]; s.Metric.Name == "iops" && s.Arm == 2 {
			s.Values[1] *= 1.2
		}
	}
	if !slices.ContainsFunc(audit.Of(f, nil), func(c finding.Claim) bool { return strings.Contains(c.Fault, "another efficiency") }) {
		t.Error("a value of a trial was changed unseen")
	}
}

// Efficiency is against the smallest size, whatever that is.
func TestEfficiencyIsAgainstTheSmallestSize(t *testing.T) {
	o := judged(scaling(3, []int{8, 2, 4}, 6, plantedLaw)).ScaleOut
	if o.Sizes[0].Units != 2 || o.Sizes[0].Efficiency != 1 {
		t.Fatalf("%+v", o.Sizes)
	}
	last := o.Sizes[2]
	if want := last.Mean / 8 / (o.Sizes[0].Mean / 2); math.Abs(last.Efficiency/want-1) > 1e-9 || last.EfficiencyLow >= want || last.EfficiencyHigh <= want {
		t.Errorf("%+v, want %v", last, want)
	}
}
