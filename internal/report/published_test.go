package report_test

import (
	"testing"

	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
	"plimsoll/internal/report"
	"plimsoll/internal/report/forest"
	"plimsoll/internal/study"
)

// A figure of a platform stands beside what a study of one arm measured there, and beside
// nothing where the study has arms.
func TestPublishedFigureOfThePlatform(t *testing.T) {
	rate := measure.Metric{Name: "transactions", Unit: "1/s", Better: measure.HigherIsBetter}
	s := report.New(report.Input{
		Study: &study.Study{Platform: study.Use{Kind: "guest"}, Published: []study.Figure{{Metric: "transactions", Values: map[string]float64{"local": 66500, "guest": 59500}}}},
		Findings: &finding.Findings{
			Arms:      []plan.Arm{{Label: "baseline"}},
			Summaries: []finding.Summary{{Metric: rate, Arm: 0, Mean: 700, Low: 690, High: 710}},
		},
	})
	table, ok := forest.PublishedTable(s)
	if !ok || len(table.Rows) != 2 || table.At(0, "what").Text != "guest" || table.At(0, "measured here").Text != "700/s" || table.At(1, "measured here").Text != "not measured" {
		t.Errorf("%t, %v", ok, table.Rows)
	}
	s.Findings.Arms = append(s.Findings.Arms, plan.Arm{Label: "other"})
	if table, _ := forest.PublishedTable(s); table.At(0, "measured here").Text != "not measured" {
		t.Errorf("with two arms: %v", table.Rows)
	}
}
