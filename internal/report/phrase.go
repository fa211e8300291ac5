package report

import (
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/quantity"
	"plimsoll/internal/sentence"
)

// ShownNumber is a number of a sentence as it is typeset.
func ShownNumber(n *sentence.Number) string {
	if n.Unit == "change" {
		if ratio := 1 + n.Value; !(ratio <= mostRatio) {
			return Change(ratio)
		}
	}
	return Typeset(n.Text)
}

// Plain is a sentence as text.
func Plain(s sentence.Sentence) string {
	var b strings.Builder
	for _, x := range s.Spans() {
		if x.Number != nil {
			b.WriteString(ShownNumber(x.Number))
		} else {
			b.WriteString(x.Text)
		}
	}
	return b.String()
}

// Below is a sentence with a prefix before the names of its numbers.
func Below(prefix string, s sentence.Sentence) sentence.Sentence {
	s.Numbers = slices.Clone(s.Numbers)
	for i := range s.Numbers {
		s.Numbers[i].ID = prefix + s.Numbers[i].ID
	}
	return s
}

// Say makes a sentence of our own from numbers of the study.
func (s *Sources) Say(template string) sentence.Sentence {
	return sentence.Scene{Number: s.studyNumber}.Compose(template)
}

// studyNumber is a number of the findings, or of the study and its plan.
func (s *Sources) studyNumber(id string) (n sentence.Number, ok bool) {
	if n, ok := s.numbers.Number(id); ok {
		return n, true
	}
	f, field := s.Findings, strings.TrimPrefix(id, "study/")
	if look, found := strings.CutPrefix(field, "look "); found && s.Plan != nil {
		if i, err := strconv.Atoi(look); err == nil && i <= len(s.Plan.Looks) {
			return counted(s.Plan.Looks[i-1]), true
		}
	}
	switch field {
	case "seed":
		return sentence.Number{Text: strconv.FormatUint(f.Seed, 10), Value: float64(f.Seed), Unit: "1"}, true
	case "arms":
		return counted(len(f.Arms)), true
	case "void":
		return counted(len(f.Void)), true
	case "false alarms":
		return sentence.Number{Text: quantity.Share(0.05), Value: 0.05, Unit: "share"}, true
	}
	if s.Study == nil {
		return n, false
	}
	m := s.Study.Measure
	switch field {
	case "settle":
		return stated(m.Settle.Seconds(), "s"), true
	case "window":
		return stated(m.Window.Seconds(), "s"), true
	case "longest":
		return stated(m.Longest.Seconds(), "s"), true
	case "warmup":
		return stated(m.Warmup.Seconds(), "s"), true
	case "precision":
		return sentence.Number{Text: quantity.Share(m.Precision), Value: m.Precision, Unit: "share"}, true
	case "rate":
		return stated(s.Study.Load.Rate, "1/s"), true
	}
	return n, false
}

func counted(n int) sentence.Number {
	return sentence.Number{Text: quantity.Count(n), Value: float64(n), Unit: "1"}
}

// stated is a value that a study states, and that no interval surrounds.
func stated(v float64, unit string) sentence.Number {
	return sentence.Number{Text: quantity.Measured(v, v, v, unit), Value: v, Unit: unit}
}
