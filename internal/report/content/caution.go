package content

import (
	"plimsoll/internal/report"
)

// CautionFact is the fact of the testbed that stands beside the verdict.
const CautionFact = "caution"

// Caution is what every reader should know of where the study ran.
func Caution(s *report.Sources) string {
	for _, t := range s.Testbed {
		if t.Name == CautionFact {
			return t.Value
		}
	}
	return ""
}
