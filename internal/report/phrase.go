package report

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/quantity"
	"plimsoll/internal/sentence"
)

// ShownNumber is a number of a sentence as printed.
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

// Below is a sentence whose number names get a prefix.
func Below(prefix string, s sentence.Sentence) sentence.Sentence {
	s.Numbers = slices.Clone(s.Numbers)
	for i := range s.Numbers {
		s.Numbers[i].ID = prefix + s.Numbers[i].ID
	}
	return s
}

// Say makes a sentence from numbers of the study.
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
	all := map[string]sentence.Number{
		"seed": {Text: strconv.FormatUint(f.Seed, 10), Value: float64(f.Seed), Unit: "1"},
		"arms": counted(len(f.Arms)), "void": counted(len(f.Void)), "false alarms": share(0.05),
	}
	if s.Study != nil {
		m := s.Study.Measure
		for name, d := range map[string]time.Duration{"settle": m.Settle, "window": m.Window, "longest": m.Longest, "warmup": m.Warmup} {
			all[name] = stated(d.Seconds(), "s")
		}
		rate, think, _ := s.Study.Pacing()
		all["precision"], all["rate"], all["think"] = share(m.Precision), stated(rate, "1/s"), stated(think.Seconds(), "s")
	}
	n, ok = all[field]
	return n, ok
}

func share(v float64) sentence.Number {
	return sentence.Number{Text: quantity.Share(v), Value: v, Unit: "share"}
}

func counted(n int) sentence.Number {
	return sentence.Number{Text: quantity.Count(n), Value: float64(n), Unit: "1"}
}

// stated is a value without an interval.
func stated(v float64, unit string) sentence.Number {
	return sentence.Number{Text: quantity.Measured(v, v, v, unit), Value: v, Unit: unit}
}
