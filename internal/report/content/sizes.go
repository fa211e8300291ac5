package content

import (
	"fmt"

	"plimsoll/internal/quantity"
	"plimsoll/internal/report"
	"plimsoll/internal/sentence"
)

// scaleLine is a size in words and numbers, for text and Markdown.
type scaleLine struct {
	Size, Mean, Interval, Efficiency, Around, Trials string
}

// ScaleLines are the sizes of a scale-out.
func ScaleLines(s *report.Sources) []scaleLine {
	o := s.Findings.ScaleOut
	if o == nil {
		return nil
	}
	var all []scaleLine
	for _, z := range o.Sizes {
		mean, between := report.Interval(z.Mean, z.Low, z.High, o.Metric.Unit)
		share, around := report.Interval(z.Efficiency, z.EfficiencyLow, z.EfficiencyHigh, "share")
		line := scaleLine{quantity.Grouped(fmt.Sprint(z.Units)), mean, between, share, around, fmt.Sprint(z.Trials)}
		if z == o.Sizes[0] {
			line.Around = "by definition"
		}
		all = append(all, line)
	}
	return all
}

// scalePhrases are the sentences of the scale-out.
func ScaleSentences(s *report.Sources) []sentence.Sentence {
	o := s.Findings.ScaleOut
	if o == nil || o.Sentence.Text == "" {
		return nil
	}
	all := []sentence.Sentence{o.Sentence}
	if o.Law != nil {
		all = append(all, o.Law.Sentence)
	}
	return all
}
