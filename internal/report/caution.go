package report

// cautionFact is the fact of the testbed that stands beside the verdict.
const cautionFact = "caution"

func (s *sources) caution() string {
	for _, t := range s.Testbed {
		if t.Name == cautionFact {
			return t.Value
		}
	}
	return ""
}
