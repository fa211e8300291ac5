// Package content is the content that all forms of a report share: verdict, explanations,
// certificate, rounds of tuning, method.
package content

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
	"plimsoll/internal/report"
	"plimsoll/internal/report/chart"
	"plimsoll/internal/sentence"
	"plimsoll/internal/webpage"
)

func verdictBadge(v finding.Verdict) webpage.Badge {
	look := chart.VerdictLook(string(v))
	word := string(v)
	if word != "" {
		word = strings.ToUpper(word[:1]) + word[1:]
	}
	return webpage.Badge{Word: word, Class: look[0], Mark: look[1]}
}

func plainBadge(word, class string) webpage.Badge {
	return webpage.Badge{Word: word, Class: class, Mark: chart.Shapes[0]}
}

// First is the comparison of the lead sentence: that of the first headline, if there is
// exactly one other arm.
func First(s *report.Sources) *finding.Comparison {
	var only *finding.Comparison
	for i := range s.Findings.Headlines {
		c := &s.Findings.Headlines[i]
		if c.Metric.Name != s.Findings.Headlines[0].Metric.Name {
			continue
		}
		if only != nil {
			return nil
		}
		only = c
	}
	return only
}

// BadgeOf is the badge of a study.
func BadgeOf(s *report.Sources) webpage.Badge {
	if len(s.Findings.DataFailures) > 0 {
		return plainBadge("Data check failed", "worse")
	}
	if t := s.Findings.Tuning; t != nil {
		switch Kept(t) {
		case 0:
			return plainBadge("Nothing changed", "open")
		case 1:
			return plainBadge("Change verified and kept", "better")
		}
		return plainBadge("Changes verified and kept", "better")
	}
	if PeaksLead(s) {
		return peakBadge(s.Findings.Peaks)
	}
	if o := s.Findings.ScaleOut; o != nil {
		return scaleBadge(o)
	}
	if c := First(s); c != nil {
		return verdictBadge(c.Verdict)
	}
	if len(s.Findings.Headlines) > 0 {
		return plainBadge(fmt.Sprintf("%d arms compared", s.Arms()), "different")
	}
	if f := s.Findings; f.Trials > 0 && len(f.Void) >= f.Trials {
		return plainBadge("No valid trial", "open")
	}
	return plainBadge("Measured", "different")
}

// PeaksLead reports whether the result of the search is the answer: there is no comparison, or
// that of the peaks is not decided.
func PeaksLead(s *report.Sources) bool {
	if len(s.Findings.Peaks) == 0 {
		return false
	}
	c := First(s)
	return c == nil && len(s.Findings.Headlines) == 0 || c != nil && c.Verdict == finding.NotEnoughRuns && c.Metric.Name == measure.PeakMetric().Name
}

// peakBadge is how many of the searches found a peak.
func peakBadge(peaks []finding.Peak) webpage.Badge {
	found, confirmed := 0, 0
	for _, p := range peaks {
		if p.Sustained > 0 {
			confirmed++
		}
		if p.Sustained > 0 || p.Estimate > 0 {
			found++
		}
	}
	switch {
	case found == 0:
		return plainBadge("No peak found", "open")
	case found < len(peaks):
		return plainBadge(fmt.Sprintf("Peak found in %d of %d arms", found, len(peaks)), "different")
	case confirmed == 0 && found == 1:
		return plainBadge("Peak estimated, not confirmed", "different")
	case confirmed == 0:
		return plainBadge("Peaks estimated, not confirmed", "different")
	case confirmed < len(peaks):
		return plainBadge(fmt.Sprintf("%d of %d peaks confirmed", confirmed, len(peaks)), "different")
	case confirmed == 1:
		return plainBadge("Peak confirmed", "equivalent")
	}
	return plainBadge("Peaks confirmed", "equivalent")
}

// scaleBadge is whether the largest size has a significantly higher rate than the others.
func scaleBadge(o *finding.ScaleOut) webpage.Badge {
	first, last := o.Sizes[0], o.Sizes[len(o.Sizes)-1]
	switch stop := o.Stop(); {
	case last.Low == last.High: // one run shows no growth
		return plainBadge(fmt.Sprintf("%d to %d %s measured", first.Units, last.Units, o.Units()), "different")
	case stop.Units == last.Units:
		return plainBadge(fmt.Sprintf("Grows up to the largest size, %d %s", last.Units, o.UnitsOf(last.Units)), "different")
	case stop.Units == first.Units:
		return plainBadge("Does not grow", "different")
	default:
		return plainBadge(fmt.Sprintf("Stops growing at %d %s", stop.Units, o.UnitsOf(stop.Units)), "different")
	}
}

// Kept is the number of changes of a tuning that were kept.
func Kept(t *finding.Tuning) int {
	n := 0
	for _, r := range t.Rounds {
		if r.Outcome == finding.Kept {
			n++
		}
	}
	return n
}

// Title is the question, else the name of the study.
func Title(s *report.Sources) string {
	if s.Findings.Question != "" {
		return s.Findings.Question
	}
	return s.Findings.Study
}

// LeadSentence is the first sentence: the outcome of tuning, else the verdict.
func LeadSentence(s *report.Sources) sentence.Sentence {
	f := s.Findings
	if f.Tuning != nil && f.Tuning.Sentence.Text != "" {
		return f.Tuning.Sentence
	}
	if !PeaksLead(s) {
		return f.Sentence
	}
	var all sentence.Sentence
	for _, p := range f.Peaks {
		all = all.Then(p.Sentence)
	}
	return all
}

const mostSentences = 6

// BesideSentences are the sentences of the other headlines.
func BesideSentences(s *report.Sources) []sentence.Sentence {
	f := s.Findings
	lead := LeadSentence(s).Text
	var all []sentence.Sentence
	if f.Tuning != nil && f.Sentence.Text != "" && f.Sentence.Text != f.Tuning.Sentence.Text {
		all = append(all, f.Sentence)
	}
	all = append(all, BesidePeaks(s)...)
	if o := f.ScaleOut; o != nil && o.Sentence.Text != "" && o.Sentence.Text != lead {
		all = append(all, o.Sentence) // the fitted parameters are below the figure
	}
	for i := range f.Headlines {
		c := &f.Headlines[i]
		said := c.Sentence.Text == lead || slices.ContainsFunc(all, func(other sentence.Sentence) bool { return other.Text == c.Sentence.Text })
		if said || !Measured(c) || len(all) >= mostSentences || First(s) == nil {
			continue
		}
		all = append(all, c.Sentence)
	}
	return all
}

// BesidePeaks are the sentences of the peaks that the lead sentence does not have.
func BesidePeaks(s *report.Sources) []sentence.Sentence {
	lead := LeadSentence(s).Text
	var all []sentence.Sentence
	for _, p := range s.Findings.Peaks {
		if !strings.Contains(lead, p.Sentence.Text) && len(all) < mostSentences {
			all = append(all, p.Sentence)
		}
	}
	return all
}

// LimitLine is the result of a declared limit for an arm.
type LimitLine struct {
	Limit, Arm, Value, State string
}

// Limits are the results of the study's limits for each arm.
func Limits(s *report.Sources) []LimitLine {
	var all []LimitLine
	for _, l := range s.Findings.Limits {
		metric := strings.Fields(strings.NewReplacer("<", " ", ">", " ", "=", " ").Replace(l.Limit))
		unit := ""
		for _, name := range metric {
			if m, ok := s.ByName[name]; ok {
				unit = m.Unit
			}
		}
		value := report.Amount(l.Value, 0, unit)
		if l.State == measure.Unknown {
			value = "not measured"
		}
		all = append(all, LimitLine{LimitText(s, l.Limit), s.Brief(l.Arm), value, map[measure.State]string{measure.Pass: "kept", measure.Fail: "missed"}[l.State]})
	}
	for i := range all {
		if all[i].State == "" {
			all[i].State = "unknown"
		}
	}
	return all
}

// LimitText formats a limit in readable units, if the study declares it.
func LimitText(s *report.Sources, limit string) string {
	if s.Study == nil {
		return limit
	}
	for _, l := range s.Study.Limits {
		if strings.Contains(" "+limit+" ", " "+l.Metric+" ") {
			return withUnits(s, l)
		}
	}
	return limit
}
