package report

import (
	"fmt"
	"html/template"
	"strings"

	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
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
	if p := s.Findings.Peaks; len(p) > 0 && (s.first() == nil || s.first().Blocks == 0) {
		return peakBadge(p)
	}
	if o := s.Findings.ScaleOut; o != nil {
		return plainBadge(fmt.Sprintf("%d to %d %s measured", o.Sizes[0].Units, o.Sizes[len(o.Sizes)-1].Units, o.Units()), "different")
	}
	if c := s.first(); c != nil {
		return verdictBadge(c.Verdict)
	}
	if len(s.Findings.Headlines) > 0 {
		return plainBadge(fmt.Sprintf("%d arms compared", s.arms()), "different")
	}
	return plainBadge("Measured", "different")
}

// peakBadge says how many of the searches found a peak.
func peakBadge(peaks []finding.Peak) badge {
	found := 0
	for _, p := range peaks {
		if p.Sustained > 0 {
			found++
		}
	}
	switch {
	case found == 0:
		return plainBadge("No peak confirmed", "open")
	case found < len(peaks):
		return plainBadge(fmt.Sprintf("%d of %d peaks confirmed", found, len(peaks)), "different")
	case found == 1:
		return plainBadge("Peak confirmed", "equivalent")
	}
	return plainBadge("Peaks confirmed", "equivalent")
}

// hero is the one number that the study is about, where it is decided.
type hero struct {
	Number, What string
	ID           string
	Value        string
	Class        string
}

func (s *sources) hero() *hero {
	f := s.Findings
	if len(f.DataFailures) > 0 {
		return nil
	}
	if f.Tuning != nil {
		// The steps of several changes are not one measured gain.
		if n := kept(f.Tuning); n > 1 {
			return &hero{plural(n, "change", "changes"), "kept, each after fresh blocks showed that it helps", "tuning/kept", fmt.Sprint(n), "better"}
		}
		for i := len(f.Tuning.Rounds) - 1; i >= 0; i-- {
			r := &f.Tuning.Rounds[i]
			if r.Outcome == finding.Kept && r.Verification != nil && r.Recommendation != nil {
				c := r.Recommendation.Change
				v := r.Verification
				return &hero{within(v.Ratio, v.Low, v.High), fmt.Sprintf("%s with %s %s instead of %s, on fresh blocks", r.Verification.Metric.Name, c.Factor, c.To, c.From),
					fmt.Sprintf("round:%d/change", i+1), exact(r.Verification.Ratio - 1), "better"}
			}
		}
		return nil
	}
	if c := s.first(); c != nil {
		if c.Verdict == finding.NotEnoughRuns || c.Counts != nil {
			return nil
		}
		return &hero{within(c.Ratio, c.Low, c.High), fmt.Sprintf("%s with %s against %s", c.Metric.Name, s.brief(c.Arm), s.brief(0)),
			fmt.Sprintf("%s@%d/change", c.Metric.Name, c.Arm), exact(c.Ratio - 1), verdictLook(string(c.Verdict))[0]}
	}
	if names := s.headlines(); len(names) > 0 && s.arms() == 1 {
		if sum := s.sums[place{names[0], 0}]; sum != nil {
			return &hero{quantity(sum.Mean, (sum.High-sum.Low)/2, sum.Metric.Unit), names[0], names[0] + "@0/mean", exact(sum.Mean), "different"}
		}
	}
	return nil
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

// lead is the sentence on top: how the closed loop ended, else the verdict.
func (s *sources) lead() template.HTML { return s.leadPhrase().html() }

func (s *sources) leadPhrase() phrase {
	f := s.Findings
	if f.Tuning != nil && f.Tuning.Sentence != "" {
		return s.said(f.Tuning.Sentence, f.Tuning.Numbers)
	}
	return s.said(f.Sentence, f.Numbers)
}

// besides are the sentences of the other headlines.
func (s *sources) besides() []template.HTML {
	var all []template.HTML
	for _, p := range s.besidePhrases() {
		all = append(all, p.html())
	}
	return all
}

const mostSentences = 6

func (s *sources) besidePhrases() []phrase {
	f := s.Findings
	lead := s.leadPhrase().plain()
	var all []phrase
	if f.Tuning != nil && f.Sentence != "" && f.Sentence != f.Tuning.Sentence {
		all = append(all, s.said(f.Sentence, f.Numbers))
	}
	for i := range f.Peaks {
		if p := s.said(f.Peaks[i].Sentence, f.Peaks[i].Numbers); p.plain() != lead && len(all) < mostSentences {
			all = append(all, p)
		}
	}
	if scale := s.scalePhrases(); len(scale) > 0 {
		all = append(all, scale[0]) // what the law fits with stands below the figure
	}
	for i := range f.Headlines {
		c := &f.Headlines[i]
		p := s.said(c.Sentence, c.Numbers)
		if text := p.plain(); text == lead || text == typesetSentence(s, f) || len(all) >= mostSentences || s.first() == nil {
			continue
		}
		all = append(all, p)
	}
	return all
}

func typesetSentence(s *sources, f *finding.Findings) string {
	return s.said(f.Sentence, f.Numbers).plain()
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
		value := quantity(l.Value, 0, unit)
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
