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

// A write on two copies takes two operations of the disks that the ceiling is of, and a read one.
func TestRows(t *testing.T) {
	job := func(reads int) hci.Job { return hci.Job{Name: "job", Doc: "doc", Reads: reads, Block: 4096} }
	few := compared()
	few.Headlines[0].NoInterval = true
	peaks := func(images finding.Peak) *finding.Findings {
		f := compared()
		f.Headlines, f.Level = nil, .95
		f.Peaks = []finding.Peak{{Arm: 0, Peak: measure.Peak{Estimate: 60000, Low: 59000, High: 61000}}, images}
		f.Summaries = append(f.Summaries, summary("peak", "1/s", 0, 60000), summary("peak", "1/s", 1, 3000))
		return f
	}
	found := peaks(finding.Peak{Arm: 1, Peak: measure.Peak{Estimate: 3000, Low: 2800, High: 3200, MaxPass: 3100, MinFail: 2900}, Sentence: sentence.Sentence{Text: "The limit is met."}})
	noCeiling := peaks(finding.Peak{Arm: 1, Peak: measure.Peak{Estimate: 3000, Low: 2800, High: 3200}, Sentence: sentence.Sentence{Text: "The limit is met."}})
	noCeiling.Peaks[0] = finding.Peak{Peak: measure.Peak{MinFail: 300}, Sentence: sentence.Sentence{Text: "Files miss it."}}
	void := &finding.Findings{Arms: compared().Arms, Void: []finding.Void{{Trial: 3, Arm: 1, Cause: "errors"}}}
	for _, c := range []struct {
		name     string
		f        *finding.Findings
		compared bool
		job      hci.Job
		copies   float64
		want     string
	}{
		{"reads", compared(), true, job(100), 2, "4,000/s|15.62 MiB/s|12.3 ms|1 ms|80,000/s|5 % (4.5 % to 5.6 %)"},
		{"writes", compared(), true, job(0), 2, "4,000/s|15.62 MiB/s|12.3 ms|1 ms|40,000/s|10 % (9 % to 11 %)"},
		{"a mix", compared(), true, job(70), 2, "4,000/s|15.62 MiB/s|12.3 ms|1 ms|61,540/s|6.5 % (5.8 % to 7.2 %)"},
		{"an erasure code", compared(), true, job(0), 1.5, "4,000/s|15.62 MiB/s|12.3 ms|1 ms|53,330/s|7.5 % (6.8 % to 8.3 %)"},
		{"disks elsewhere", compared(), true, job(0), 0, "4,000/s|15.62 MiB/s|12.3 ms|1 ms|80,000/s|5 % (4.5 % to 5.6 %)"},
		{"two blocks", few, true, job(100), 2, "4,000/s|15.62 MiB/s|12.3 ms|1 ms|80,000/s|5 %"},
		{"peaks", found, true, job(0), 2, "3,000/s (2,800 to 3,200/s)|11.72 MiB/s|30,000/s|10 %"},
		{"one ladder", peaks(finding.Peak{Arm: 1, Peak: measure.Peak{Estimate: 3000, MaxPass: 3100, MinFail: 2900}}), true, job(0), 2, "3,000/s (no interval)|11.72 MiB/s|30,000/s|10 %"},
		{"no limit found", peaks(finding.Peak{Arm: 1, Peak: measure.Peak{MaxPass: 3000}}), true, job(0), 2, "≥ 3,000/s|11.72 MiB/s|30,000/s|–"},
		{"never within", peaks(finding.Peak{Arm: 1, Peak: measure.Peak{MinFail: 78}}), true, job(0), 2, "< 78/s|–|30,000/s|–"},
		{"files never within", noCeiling, true, job(0), 2, "3,000/s (2,800 to 3,200/s)|11.72 MiB/s|–|–"},
		{"images only", &finding.Findings{Summaries: []finding.Summary{summary("iops", "1/s", 0, 500)}}, false, job(0), 0, "500/s|–|–|–|–|–"},
		{"void", void, true, job(0), 2, "–|–|–|–|–|–"},
	} {
		r := Row{Job: c.job}
		r.take(c.f, c.compared, c.copies)
		if got := strings.Join(r.Cells(len(c.f.Peaks) > 0), "|"); got != "job|doc|"+c.want {
			t.Errorf("%s: %s\nwant %s", c.name, got, c.want)
		}
		if c.name == "reads" && (r.Side != "The devices limit." || r.Trials != 6) {
			t.Errorf("%s: %+v", c.name, r)
		}
		if want := "The limit is met. Files miss it. The devices limit."; c.name == "files never within" && r.note() != want {
			t.Errorf("%s: %q, want %q", c.name, r.note(), want)
		}
		if fault := "no valid trial; the last, trial 3: errors"; c.name == "void" && r.Fault != fault || c.name != "void" && r.Fault != "" {
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

// A search that found no peak has measured its job, which the badge does not hide.
func TestBadge(t *testing.T) {
	for want, r := range map[string]Row{"all jobs measured": {Rate: new(float64)}, "jobs without a peak": {Peak: &Peak{Failed: 25}}, "jobs without figures": {Fault: "not run"}} {
		o := &Overview{Plan: &Plan{Easy: &hci.Easy{Jobs: make([]hci.Job, 1)}}, Rows: []Row{r}}
		if got := o.view().Badge.Word; got != want {
			t.Errorf("%+v: %q, want %q", r, got, want)
		}
	}
}
