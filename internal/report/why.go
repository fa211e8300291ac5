package report

import (
	"fmt"
	"strings"

	"plimsoll/internal/finding"
	"plimsoll/internal/sentence"
)

// reason is an explanation on the page.
type reason struct {
	Rule     string
	Arm      string
	Grade    string
	Sentence sentence.Sentence
	Evidence []line
	Change   string
	Gain     string
}

func (s *sources) reasons() []reason {
	var all []reason
	for i := range s.Findings.Explanations {
		e := &s.Findings.Explanations[i]
		r := reason{Rule: spaced(e.Rule), Arm: s.brief(e.Arm), Grade: string(e.Grade), Sentence: e.Sentence}
		for _, x := range e.Evidence {
			r.Evidence = append(r.Evidence, line{x.Name, s.evidence(x)})
		}
		if e.Change != nil {
			r.Change = fmt.Sprintf("%s: %s → %s", e.Change.Factor, e.Change.From, e.Change.To)
		}
		r.Gain = expected(e.Gain)
		all = append(all, r)
	}
	return all
}

// evidence writes a number behind an explanation. The share of a metric that is no
// share itself is by how much it changed.
func (s *sources) evidence(x finding.Evidence) string {
	if m, known := s.metrics[x.Name]; known && x.Unit == "share" && m.Unit != "share" {
		return change(1 + x.Value)
	}
	return amount(x.Value, 0, x.Unit)
}

func expected(g *finding.Gain) string {
	if g == nil {
		return ""
	}
	text := "between " + within(1+g.Low, 1+g.Low, 1+g.High) + " and " + within(1+g.High, 1+g.Low, 1+g.High)
	if g.Basis != "" {
		text += ", " + g.Basis
	}
	return text
}

// spaced is the name of a rule as words.
func spaced(rule string) string {
	words := strings.Split(rule, "_")
	for i, w := range words {
		if proper, ok := map[string]string{"io": "I/O", "cpu": "CPU"}[w]; ok {
			words[i] = proper
		}
	}
	return strings.Join(words, " ")
}

// advice is the one change that the analysis names.
type advice struct {
	Sentence sentence.Sentence
	RestsOn  string // arm
	Tuned    bool   // it follows what a closed loop tried
}

func (s *sources) advice() *advice {
	r := s.Findings.Recommendation
	if r == nil {
		return nil
	}
	return &advice{Sentence: r.Sentence, RestsOn: s.label(r.Arm), Tuned: s.Findings.Tuning != nil}
}
