package content

import (
	"fmt"

	"plimsoll/internal/finding"
	"plimsoll/internal/report"
)

// Compared is a comparison of two runs, or of one arm of both.
type Compared struct {
	Input report.Input
	Arm   string  // that both sides have; empty if each has one
	Sides [2]Side // before and after
}

// Side is one side of a comparison.
type Side struct {
	Name   string `json:"name"`
	Arm    string `json:"arm,omitempty"`
	Trials int    `json:"trials"` // valid trials
	Void   int    `json:"void"`
}

// Change is the before and after of a metric, in JSON.
type Change struct {
	Metric      string          `json:"metric"`
	Unit        string          `json:"unit"`
	Better      string          `json:"better"`
	Arm         string          `json:"arm,omitempty"` // of a study, against its first arm
	Before      float64         `json:"before"`
	After       float64         `json:"after"`
	Ratio       float64         `json:"ratio,omitempty"`
	Low         float64         `json:"low,omitempty"`
	High        float64         `json:"high,omitempty"`
	Level       float64         `json:"level,omitempty"` // of the interval
	Verdict     finding.Verdict `json:"verdict"`
	Exploratory bool            `json:"exploratory,omitempty"`

	BeforeText string `json:"-"`
	AfterText  string `json:"-"`
	ChangeText string `json:"-"`
	Interval   string `json:"-"`
}

// Changes lists the metrics that both sides have, headlines first.
func Changes(s *report.Sources) []Change {
	var all []Change
	for k, list := range [][]finding.Comparison{s.Findings.Headlines, s.Findings.Exploratory} {
		for i := range list {
			c := &list[i]
			before, after := s.Summary(c.Metric.Name, 0), s.Summary(c.Metric.Name, c.Arm)
			if before == nil || after == nil {
				continue
			}
			one := Change{
				Metric: c.Metric.Name, Unit: c.Metric.Unit, Better: string(c.Metric.Better), Before: before.Mean, After: after.Mean,
				Ratio: c.Ratio, Verdict: c.Verdict, Exploratory: k == 1,
				BeforeText: report.Amount(before.Mean, 0, c.Metric.Unit), AfterText: report.Amount(after.Mean, 0, c.Metric.Unit), ChangeText: ChangeOf(c), Interval: "no interval",
			}
			if c.NoInterval && one.Before != one.After && (one.Before <= 0 || one.After <= 0) {
				one.Ratio, one.ChangeText = 0, NoRatio // a change from or to 0 has no ratio
			}
			if s.Arms() > 2 {
				one.Arm = s.Brief(c.Arm)
			}
			if !c.NoInterval && c.Low > 0 {
				one.Low, one.High, one.Level, one.Interval = c.Low, c.High, s.Findings.Level, Between(c)
			}
			all = append(all, one)
		}
	}
	return all
}

// VerdictText is the text of the verdict column.
func (c *Change) VerdictText() string {
	if c.Exploratory {
		return "exploratory"
	}
	return string(c.Verdict)
}

// NotRandomised is the caveat of a comparison of two runs.
const NotRandomised = "The runs were not interleaved in random order: any other change between them is part of the difference. This is not a verification."

// VerdictOf is the verdict on the first headline.
func VerdictOf(s *report.Sources) finding.Verdict {
	if c := First(s); c != nil {
		return c.Verdict
	}
	return finding.NotEnoughRuns
}

// Text names a side with its trials.
func (d *Side) Text() string {
	text := d.Name
	if d.Arm != "" {
		text += ", " + d.Arm
	}
	text += " (" + report.Plural(d.Trials, "trial", "trials")
	if d.Void > 0 {
		text += fmt.Sprintf(", %d void", d.Void)
	}
	return text + ")"
}

// HeadlineChanges are the changes of the headlines, each with its arm.
func HeadlineChanges(s *report.Sources) []Change {
	var all []Change
	for _, c := range Changes(s) {
		if !c.Exploratory {
			all = append(all, c)
		}
	}
	return all
}
