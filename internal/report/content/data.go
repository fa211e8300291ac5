package content

import (
	"fmt"

	"plimsoll/internal/finding"
	"plimsoll/internal/quantity"
	"plimsoll/internal/report"
)

// DataBanner is at the top of every report of a run with a failed check of data.
type DataBanner struct {
	Title   string
	Verdict string
	Note    string
	Trials  []finding.DataFailure // the first ones
	More    string
}

const mostDataFailures = 8

// DataFailed is nil if no check of data failed.
func DataFailed(s *report.Sources) *DataBanner {
	all := s.Findings.DataFailures
	if len(all) == 0 {
		return nil
	}
	b := &DataBanner{
		Title: "Data check failed", Verdict: s.Findings.DataVerdict(),
		Note:   "The performance of a system that loses data is not reported: the trial is void and was not repeated. The run ended with exit status 1.",
		Trials: all[:min(len(all), mostDataFailures)],
	}
	if more := len(all) - len(b.Trials); more > 0 {
		b.More = fmt.Sprintf("%s more in the results folder.", quantity.Count(more))
	}
	return b
}
