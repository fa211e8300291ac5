package content

import (
	"plimsoll/internal/report"
)

// CautionFact is the testbed fact that is shown beside the verdict.
const CautionFact = "caution"

// Caution is the warning about the testbed.
func Caution(s *report.Sources) string {
	for _, t := range s.Testbed {
		if t.Name == CautionFact {
			return t.Value
		}
	}
	return ""
}
