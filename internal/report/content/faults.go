package content

import (
	"fmt"

	"plimsoll/internal/quantity"
	"plimsoll/internal/report"
)

// Faults are the failed operations by their faults, a line each: the most frequent of each arm first.
func Faults(s *report.Sources) (lines []string) {
	all := s.Findings.Faults
	for _, f := range all[:min(len(all), MostRows)] {
		lines = append(lines, fmt.Sprintf("%s with %s, in %s: %s", report.Plural(int(f.Count), "operation", "operations"), s.Brief(f.Arm), report.Plural(f.Trials, "trial", "trials"), f.Name))
	}
	if more := len(all) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("%s more kinds in findings.json", quantity.Count(more)))
	}
	return lines
}
