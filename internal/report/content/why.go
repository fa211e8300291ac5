package content

import (
	"fmt"
	"strings"

	"plimsoll/internal/finding"
	"plimsoll/internal/report"
	"plimsoll/internal/sentence"
)

// Reason is an explanation on the page.
type Reason struct {
	Rule     string
	Arm      string
	Grade    string
	Sentence sentence.Sentence
	Evidence []Line
	Change   string
	Command  string // that makes the change
	Gain     string
}

// Reasons are the explanations.
func Reasons(s *report.Sources) []Reason {
	var all []Reason
	for i := range s.Findings.Explanations {
		e := &s.Findings.Explanations[i]
		r := Reason{Rule: spaced(e.Rule), Arm: s.Brief(e.Arm), Grade: string(e.Grade), Sentence: e.Sentence}
		for _, x := range e.Evidence {
			r.Evidence = append(r.Evidence, Line{x.Name, evidence(s, x)})
		}
		if e.Change != nil {
			r.Change = fmt.Sprintf("%s: %s → %s", e.Change.Factor, e.Change.From, e.Change.To)
		}
		if r.Command = e.Command; r.Change == "" {
			r.Change = e.Advice
		}
		r.Gain = expected(e.Gain)
		all = append(all, r)
	}
	return all
}

// evidence formats a number of an explanation. The share of a metric that is not itself a
// share is its relative change.
func evidence(s *report.Sources, x finding.Evidence) string {
	if m, known := s.ByName[x.Name]; known && x.Unit == "share" && m.Unit != "share" {
		return report.Change(1 + x.Value)
	}
	if x.Unit == "change" {
		return report.Change(1 + x.Value)
	}
	return report.Amount(x.Value, 0, x.Unit)
}

func expected(g *finding.Gain) string {
	if g == nil {
		return ""
	}
	text := "between " + report.Within(1+g.Low, 1+g.Low, 1+g.High) + " and " + report.Within(1+g.High, 1+g.Low, 1+g.High)
	if g.Basis != "" {
		text += ", " + g.Basis
	}
	return text
}

// spaced is the name of a rule with spaces.
func spaced(rule string) string {
	words := strings.Split(rule, "_")
	for i, w := range words {
		if proper, ok := map[string]string{"io": "I/O", "cpu": "CPU"}[w]; ok {
			words[i] = proper
		}
	}
	return strings.Join(words, " ")
}

// Advice is the recommended change.
type Advice struct {
	Sentence sentence.Sentence
	RestsOn  string // arm
	Tuned    bool   // after tuning
}

// AdviceOf is the recommendation; nil if there is none.
func AdviceOf(s *report.Sources) *Advice {
	r := s.Findings.Recommendation
	if r == nil {
		return nil
	}
	return &Advice{Sentence: r.Sentence, RestsOn: s.Label(r.Arm), Tuned: s.Findings.Tuning != nil}
}
