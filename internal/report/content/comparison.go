package content

import (
	"plimsoll/internal/finding"
	"plimsoll/internal/report"
)

// Measured says that there was something of both arms to compare.
func Measured(c *finding.Comparison) bool { return c.Blocks > 0 || c.Counts != nil || c.NotRandomised }

// Unmeasured stands where there was nothing of both arms to compare.
const Unmeasured = "not measured"

// NoRatio stands for a change from 0.
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

// Remark is what weakens a comparison.
func Remark(c *finding.Comparison) string {
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

// MostRows is how many rows a forest plot draws.
const MostRows = 36
