package report

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
	"plimsoll/internal/sentence"
)

// badge is a verdict as a word with its mark.
type badge struct {
	Word  string
	Class string
	Mark  template.HTMLAttr // path of the mark
}

func verdictBadge(v finding.Verdict) badge {
	look := verdictLook(string(v))
	word := string(v)
	if word != "" {
		word = strings.ToUpper(word[:1]) + word[1:]
	}
	return badge{word, look[0], template.HTMLAttr(`d="` + look[1] + `"`)}
}

func plainBadge(word, class string) badge {
	return badge{word, class, template.HTMLAttr(`d="` + shapes[0] + `"`)}
}

// first is the comparison that the sentence on top is about: the one of the first
// headline, where there is just one other arm.
func (s *sources) first() *finding.Comparison {
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

func (s *sources) badge() badge {
	if len(s.Findings.DataFailures) > 0 {
		return plainBadge("Data check failed", "worse")
	}
	if t := s.Findings.Tuning; t != nil {
		switch kept(t) {
		case 0:
			return plainBadge("Nothing changed", "open")
		case 1:
			return plainBadge("Change verified and kept", "better")
		}
		return plainBadge("Changes verified and kept", "better")
	}
	if s.peaksLead() {
		return peakBadge(s.Findings.Peaks)
	}
	if o := s.Findings.ScaleOut; o != nil {
		return scaleBadge(o)
	}
	if c := s.first(); c != nil {
		return verdictBadge(c.Verdict)
	}
	if len(s.Findings.Headlines) > 0 {
		return plainBadge(fmt.Sprintf("%d arms compared", s.arms()), "different")
	}
	if f := s.Findings; f.Trials > 0 && len(f.Void) >= f.Trials {
		return plainBadge("No valid trial", "open")
	}
	return plainBadge("Measured", "different")
}

// peaksLead says that what the search found is the answer: nothing is compared, or the
// comparison of the peaks is not decided.
func (s *sources) peaksLead() bool {
	if len(s.Findings.Peaks) == 0 {
		return false
	}
	c := s.first()
	return c == nil && len(s.Findings.Headlines) == 0 || c != nil && c.Verdict == finding.NotEnoughRuns && c.Metric.Name == measure.PeakMetric().Name
}

// peakBadge says how many of the searches found a peak.
func peakBadge(peaks []finding.Peak) badge {
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

// scaleBadge says whether the largest size carries more than the others.
func scaleBadge(o *finding.ScaleOut) badge {
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

// kept is how many changes of a closed loop were kept.
func kept(t *finding.Tuning) int {
	n := 0
	for _, r := range t.Rounds {
		if r.Outcome == finding.Kept {
			n++
		}
	}
	return n
}

// title is the question, else the name of the study.
func (s *sources) title() string {
	if s.Findings.Question != "" {
		return s.Findings.Question
	}
	return s.Findings.Study
}

func (s *sources) leadSentence() sentence.Sentence {
	f := s.Findings
	if f.Tuning != nil && f.Tuning.Sentence.Text != "" {
		return f.Tuning.Sentence
	}
	if !s.peaksLead() {
		return f.Sentence
	}
	var all sentence.Sentence
	for _, p := range f.Peaks {
		all = all.Then(p.Sentence)
	}
	return all
}

const mostSentences = 6

func (s *sources) besideSentences() []sentence.Sentence {
	f := s.Findings
	lead := s.leadSentence().Text
	var all []sentence.Sentence
	if f.Tuning != nil && f.Sentence.Text != "" && f.Sentence.Text != f.Tuning.Sentence.Text {
		all = append(all, f.Sentence)
	}
	all = append(all, s.besidePeaks()...)
	if o := f.ScaleOut; o != nil && o.Sentence.Text != "" && o.Sentence.Text != lead {
		all = append(all, o.Sentence) // what the law fits with stands below the figure
	}
	for i := range f.Headlines {
		c := &f.Headlines[i]
		said := c.Sentence.Text == lead || slices.ContainsFunc(all, func(other sentence.Sentence) bool { return other.Text == c.Sentence.Text })
		if said || !compared(c) || len(all) >= mostSentences || s.first() == nil {
			continue
		}
		all = append(all, c.Sentence)
	}
	return all
}

// besidePeaks are the sentences of the peaks that the one on top does not hold.
func (s *sources) besidePeaks() []sentence.Sentence {
	lead := s.leadSentence().Text
	var all []sentence.Sentence
	for _, p := range s.Findings.Peaks {
		if !strings.Contains(lead, p.Sentence.Text) && len(all) < mostSentences {
			all = append(all, p.Sentence)
		}
	}
	return all
}

// limitLine is a declared limit held against an arm.
type limitLine struct {
	Limit, Arm, Value, State string
}

func (s *sources) limits() []limitLine {
	var all []limitLine
	for _, l := range s.Findings.Limits {
		metric := strings.Fields(strings.NewReplacer("<", " ", ">", " ", "=", " ").Replace(l.Limit))
		unit := ""
		for _, name := range metric {
			if m, ok := s.metrics[name]; ok {
				unit = m.Unit
			}
		}
		value := amount(l.Value, 0, unit)
		if l.State == measure.Unknown {
			value = "not measured"
		}
		all = append(all, limitLine{s.limitText(l.Limit), s.brief(l.Arm), value, map[measure.State]string{measure.Pass: "kept", measure.Fail: "missed"}[l.State]})
	}
	for i := range all {
		if all[i].State == "" {
			all[i].State = "unknown"
		}
	}
	return all
}

// limitText writes a limit in units for people, where the study declares it.
func (s *sources) limitText(limit string) string {
	if s.Study == nil {
		return limit
	}
	for _, l := range s.Study.Limits {
		if strings.Contains(" "+limit+" ", " "+l.Metric+" ") {
			return s.limit(l)
		}
	}
	return limit
}
