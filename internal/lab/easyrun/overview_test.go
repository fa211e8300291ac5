package easyrun

import (
	"strings"
	"testing"

	"plimsoll/internal/finding"
	"plimsoll/internal/hci"
	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
	"plimsoll/internal/sentence"
)

func summary(metric, unit string, arm int, mean float64) finding.Summary {
	return finding.Summary{Metric: measure.Metric{Name: metric, Unit: unit}, Arm: arm, Trials: 6, Mean: mean}
}

// compared are findings of a job on files, arm 0, and on images.
func compared() *finding.Findings {
	return &finding.Findings{
		Arms: []plan.Arm{{Index: 0}, {Index: 1}},
		Summaries: []finding.Summary{
			summary("iops", "1/s", 0, 80000), summary("iops", "1/s", 1, 4000), summary("throughput", "B/s", 1, 16384000), summary("p95", "s", 0, .001), summary("p95", "s", 1, .0123),
		},
		Headlines: []finding.Comparison{
			{Metric: measure.Metric{Name: "iops"}, Arm: 1, Blocks: 6, Ratio: .05, Low: .045, High: .0556, Level: .95},
			{Metric: measure.Metric{Name: "p95"}, Arm: 1, Blocks: 6, Ratio: 12.3, Low: 12, High: 13, Level: .95},
		},
		Explanations: []finding.Explanation{
			{Rule: "storage_side", Arm: 1, Sentence: sentence.Sentence{Text: "The devices limit."}}, {Rule: "storage_side", Arm: 0, Sentence: sentence.Sentence{Text: "Not this one."}},
		},
	}
}

func TestRows(t *testing.T) {
	job := hci.Job{Name: "4k-read", Doc: "4 KiB, random reads"}
	few := compared()
	few.Headlines[0].NoInterval = true
	peaked := compared()
	peaked.Headlines, peaked.Peaks = nil, []finding.Peak{{Arm: 0}, {Arm: 1}}
	peaked.Summaries = append(peaked.Summaries, summary("peak", "1/s", 0, 60000), summary("peak", "1/s", 1, 3000))
	void := &finding.Findings{Arms: compared().Arms, Void: []finding.Void{{Trial: 3, Arm: 1, Cause: "errors"}}}
	for _, c := range []struct {
		name     string
		f        *finding.Findings
		compared bool
		want     string
	}{
		{"compared", compared(), true, "4k-read|4 KiB, random reads|4,000/s|15.62 MiB/s|12.3 ms|5 % (4.5 % to 5.6 %)"},
		{"two blocks", few, true, "4k-read|4 KiB, random reads|4,000/s|15.62 MiB/s|12.3 ms|5 %"},
		{"peaks", peaked, true, "4k-read|4 KiB, random reads|3,000/s|–|–|5 %"},
		{"images only", &finding.Findings{Summaries: []finding.Summary{summary("iops", "1/s", 0, 500)}}, false, "4k-read|4 KiB, random reads|500/s|–|–|–"},
		{"void", void, true, "4k-read|4 KiB, random reads|–|–|–|–"},
	} {
		r := Row{Job: job}
		r.take(c.f, c.compared)
		if got := strings.Join(r.Cells(), "|"); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, got, c.want)
		}
		if c.name == "compared" && (r.Side != "The devices limit." || r.Trials != 6) {
			t.Errorf("%s: %+v", c.name, r)
		}
		if c.name == "void" && r.Fault != "no valid trial; the last, trial 3: errors" {
			t.Errorf("%s: %q", c.name, r.Fault)
		}
	}
}

// The page names every job once, links to its report, and escapes what comes from outside.
func TestPage(t *testing.T) {
	p := &Plan{Easy: &hci.Easy{Policy: hci.Small, Profile: hci.Max, Disks: 4, Size: 128 << 20, Jobs: make([]hci.Job, 2)}}
	o := &Overview{Plan: p, Rows: []Row{{Job: hci.Job{Name: "4k-read"}, Dir: "1-4k-read", Rate: new(float64)}, {Job: hci.Job{Name: "4k-write"}, Fault: "<b>broken</b>"}}}
	var b strings.Builder
	if err := o.Page(&b); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{
		`<a href="1-4k-read/report.html">4k-read</a>`: 1, ">4k-write<": 1, "jobs without figures": 2, "&lt;b&gt;broken": 1, "<b>broken": 0, "2 jobs on a private cluster on this host: 4 images of 128MiB": 1, "<script": 0,
	} {
		if got := strings.Count(b.String(), text); got != want {
			t.Errorf("%q is there %d times, not %d", text, got, want)
		}
	}
}
