package content

import (
	"plimsoll/internal/finding"
	"plimsoll/internal/report"
)

// Measured reports whether both arms have data to compare.
func Measured(c *finding.Comparison) bool { return c.Blocks > 0 || c.Counts != nil || c.NotRandomised }

// Unmeasured is shown if one arm has no data to compare.
const Unmeasured = "not measured"

// NoRatio is shown for a change from 0.
const NoRatio = "no ratio"

// ChangeOf is the change of a comparison.
func ChangeOf(c *finding.Comparison) string {
	if !Measured(c) {
		return Unmeasured
	}
	if c.NoRatio {
		return NoRatio
	}
	return report.Within(c.Ratio, c.Low, c.High)
}

// Between is the interval of a comparison.
func Between(c *finding.Comparison) string {
	return report.Within(c.Low, c.Low, c.High) + " to " + report.Within(c.High, c.Low, c.High)
}

// Remark is the caveat of a comparison.
func Remark(c *finding.Comparison) string {
	switch {
	case c.NotRandomised:
		return "not randomised"
	case c.LeansOnNormality:
		return "relies on normality"
	case c.OwnLoad:
		return "each at its own load"
	case c.Counts != nil:
		return "compared as counts"
	}
	return ""
}

// MostRows is the largest number of rows of a forest plot.
const MostRows = 36
