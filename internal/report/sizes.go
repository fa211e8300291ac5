package report

import (
	"fmt"

	"plimsoll/internal/sentence"
)

// scaleLine is a size in words and numbers, for text and Markdown.
type scaleLine struct {
	Size, Mean, Interval, Efficiency, Around, Trials string
}

func (s *sources) scaleLines() []scaleLine {
	o := s.Findings.ScaleOut
	if o == nil {
		return nil
	}
	var all []scaleLine
	for _, z := range o.Sizes {
		mean, between := interval(z.Mean, z.Low, z.High, o.Metric.Unit)
		share, around := interval(z.Efficiency, z.EfficiencyLow, z.EfficiencyHigh, "share")
		line := scaleLine{thousands(fmt.Sprint(z.Units)), mean, between, share, around, fmt.Sprint(z.Trials)}
		if z == o.Sizes[0] {
			line.Around = "by definition"
		}
		all = append(all, line)
	}
	return all
}

// scalePhrases are the sentences of the scale-out.
func (s *sources) scaleSentences() []sentence.Sentence {
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
