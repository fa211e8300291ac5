package report_test

import (
	"slices"
	"testing"

	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
	"plimsoll/internal/report"
	"plimsoll/internal/report/content"
	"plimsoll/internal/study"
)

// The times of a fault stand beside the headlines where an arm has them.
func TestFaultsAreShown(t *testing.T) {
	iops := finding.Summary{Metric: measure.Metric{Name: "iops"}, Mean: 1000}
	whole := finding.Summary{Metric: measure.Metric{Name: "fault.recovery", Unit: "s"}, Arm: 1, Mean: 20}
	for want, summaries := range map[string][]finding.Summary{"": {iops}, "fault.recovery": {iops, whole}} {
		s := report.New(report.Input{
			Study:    &study.Study{Headline: []string{"iops"}},
			Findings: &finding.Findings{Arms: []plan.Arm{{Label: "none"}, {Index: 1, Label: "kill"}}, Summaries: summaries},
		})
		expected := []string{"iops"}
		if want != "" {
			expected = append(expected, want)
		}
		if shown := content.ShownMetrics(s); !slices.Equal(shown, expected) {
			t.Errorf("%v are shown, want %v", shown, expected)
		}
	}
}
