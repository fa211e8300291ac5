package report

import "plimsoll/internal/finding"

// compared says that there was something of both arms to compare.
func compared(c *finding.Comparison) bool { return c.Blocks > 0 || c.Counts != nil || c.NotRandomised }

// unmeasured stands where there was nothing of both arms to compare.
const unmeasured = "not measured"

// changeOf is the change of a comparison.
func changeOf(c *finding.Comparison) string {
	if !compared(c) {
		return unmeasured
	}
	return within(c.Ratio, c.Low, c.High)
}

// between is the interval of a comparison.
func between(c *finding.Comparison) string {
	return within(c.Low, c.Low, c.High) + " to " + within(c.High, c.Low, c.High)
}

// remark is what weakens a comparison.
func remark(c *finding.Comparison) string {
	switch {
	case c.NotRandomised:
		return "not randomised"
	case c.LeansOnNormality:
		return "leans on normality"
	case c.OwnLoad:
		return "each at its own load"
	case c.Counts != nil:
		return "compared as counts"
	}
	return ""
}

// mostRows is how many rows a forest plot draws.
const mostRows = 36
