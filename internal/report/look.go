package report

import "plimsoll/internal/finding"

// verdictLook is the colour and the mark of a verdict.
func verdictLook(v string) [2]string {
	switch finding.Verdict(v) {
	case finding.Better:
		return [2]string{"better", shapes[0]}
	case finding.Worse:
		return [2]string{"worse", shapes[2]}
	case finding.Equivalent:
		return [2]string{"equivalent", shapes[3]}
	case finding.Different, finding.Changed:
		return [2]string{"different", shapes[0]}
	}
	return [2]string{"open", shapes[0]}
}
