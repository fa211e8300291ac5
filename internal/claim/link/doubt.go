package link

import (
	"strings"

	"plimsoll/internal/claim/grammar"
	"plimsoll/internal/claim/number"
)

// Unsure is why a pair must not refute a claim; "" if it may.
func Unsure(s *grammar.Sentence, p *grammar.Pair, from, to int) string {
	for _, i := range []int{p.A, p.B} {
		if s.Tokens[i].Num.Doubtful {
			return "the decimal comma in " + s.Tokens[i].Num.Printed + " can be read in two ways"
		}
	}
	if p.A != p.B && s.Tokens[p.A].Num.Year() && s.Tokens[p.B].Num.Year() {
		return "the values may be years"
	}
	if strings.HasSuffix(s.Text, "?") {
		return "a question"
	}
	start := from
	for start > 0 && s.Tokens[start-1].Mark != ";" && s.Tokens[start-1].Mark != "," && s.Tokens[start-1].Mark != ":" {
		start--
	}
	for k := start; k < to; k++ {
		if w := s.WordAt(k); number.Modals[w] || strings.HasSuffix(w, "n't") {
			return "condition, negation or expectation"
		}
	}
	for k := to; k < min(len(s.Tokens), to+8) && s.Tokens[k].Mark == "" && s.Tokens[k].Num == nil; k++ {
		if hopes[s.WordAt(k)] {
			return "change relative to an expectation"
		}
	}
	if s.Lists {
		return "values and changes in separate lists"
	}
	if isSetting(s, p) {
		return "the values are settings"
	}
	return ""
}

// OtherBase reports whether a change after a pair has another stated base: "89 % faster than
// today".
func OtherBase(s *grammar.Sentence, one *grammar.Saying, p *grammar.Pair) bool {
	if w := s.WordAt(one.To); !p.Explicit && (w == "vs" || w == "vs." || w == "versus" || w == "over" || w == "against") {
		return true // "(+1.7 % vs. baseline)"
	}
	if !grammar.Comparatives[s.WordAt(one.To)] && number.Goods[s.WordAt(one.To)] == 0 {
		return false
	}
	for k := one.To + 1; k < min(len(s.Tokens), one.To+4) && s.Tokens[k].Mark == ""; k++ {
		if s.WordAt(k) == "than" {
			for at := k + 1; at < min(len(s.Tokens), k+4); at++ {
				if s.Tokens[at].Num != nil || grammar.Earlier[s.WordAt(at)] {
					return false
				}
			}
			return true
		}
	}
	return false
}

// IsLevel reports whether a percentage is more likely a level than a change: it has a noun of
// its own, as in "4 % variance", or there are words between it and the values that follow.
func IsLevel(s *grammar.Sentence, one *grammar.Saying, p *grammar.Pair) bool {
	if one.Kind != grammar.InPercent || one.Claims() || one.Of {
		return false
	}
	for k := one.To; k < p.From; k++ {
		if s.WordAt(k) != "" {
			return true
		}
	}
	for k := min(p.A, p.B) + 1; k < max(p.A, p.B); k++ {
		if q := s.Tokens[k].Num; q != nil && q.Percent() && k != one.To-1 && one.Hedge == "" {
			return true // each value has its own level
		}
	}
	w := s.WordAt(one.To)
	return one.Hedge == "" && w != "" && !number.Function[w] && !number.Links[w] && !number.Clauses[w]
}

// OfBase reports whether a share is said to be of a number or of the value before.
func OfBase(s *grammar.Sentence, one *grammar.Saying) bool {
	for k := one.To; k < min(len(s.Tokens), one.To+5) && s.Tokens[k].Mark == ""; k++ {
		if s.Tokens[k].Num != nil || grammar.Earlier[s.WordAt(k)] {
			return true
		}
	}
	return false
}

var hopes = number.Set("hoped expected planned promised required needed asked predicted anticipated goal target objective limit budget")

// isSetting reports whether a pair is of configuration.
func isSetting(s *grammar.Sentence, p *grammar.Pair) bool {
	counted := false
	for _, i := range []int{p.A, p.B} {
		q := s.Tokens[i].Num
		if q.Unit.Dim == number.DimHertz {
			return true
		}
		if q.Unit.Dim == number.DimCount && len(q.Nouns) > 0 {
			counted = true
			last := q.Nouns[len(q.Nouns)-1]
			if number.Settings[last] || number.Settings[last+"s"] || number.Settings[q.Nouns[0]] && p.Metric == "" {
				return true
			}
		}
	}
	if counted || s.Tokens[p.A].Num.Percent() && p.Metric == number.MetricCPU {
		return false
	}
	measured := s.Tokens[p.A].Num.Unit.Dim == number.DimRate
	words := 0
	for k := p.From - 1; k >= max(0, p.From-8) && words < 3; k-- {
		t := &s.Tokens[k]
		if t.Num != nil || t.Mark == ";" || t.Mark == "." {
			break
		}
		if t.Word == "" || number.Function[t.Word] || p.Verb == t.Word || s.WordAt(k-1) == "per" {
			continue
		}
		words++
		if s.Tokens[p.A].Num.Unit.Dim == number.DimTime {
			if number.Timers[t.Word] {
				return true
			}
			continue
		}
		if t.Word == "offered" || t.Word == "arrival" || t.Word == "load" {
			return true
		}
		if measured || number.MetricWords[t.Word] != "" && !number.Settings[t.Word] {
			return false
		}
		if number.Settings[t.Word] || strings.ContainsAny(t.Word, "_.=") {
			return true
		}
	}
	return false
}
