package chart

import "plimsoll/internal/finding"

// VerdictLook is the CSS class and the mark of a verdict.
func VerdictLook(v string) [2]string {
	switch finding.Verdict(v) {
	case finding.Better:
		return [2]string{"better", Shapes[0]}
	case finding.Worse:
		return [2]string{"worse", Shapes[2]}
	case finding.Equivalent:
		return [2]string{"equivalent", Shapes[3]}
	case finding.Different, finding.Changed:
		return [2]string{"different", Shapes[0]}
	}
	return [2]string{"open", Shapes[0]}
}
