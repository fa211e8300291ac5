package claim

import "strings"

// unsure is why a pair is no ground for an accusation; "" where it is.
func (s *sentence) unsure(p *pair, from, to int) string {
	for _, i := range []int{p.a, p.b} {
		if s.tokens[i].num.doubtful {
			return "the decimal comma in " + s.tokens[i].num.printed + " can be read in two ways"
		}
	}
	if p.a != p.b && s.tokens[p.a].num.year() && s.tokens[p.b].num.year() {
		return "the values may be years"
	}
	if strings.HasSuffix(s.text, "?") {
		return "a question"
	}
	start := from
	for start > 0 && s.tokens[start-1].mark != ";" && s.tokens[start-1].mark != "," && s.tokens[start-1].mark != ":" {
		start--
	}
	for k := start; k < to; k++ {
		if w := s.wordAt(k); modals[w] || strings.HasSuffix(w, "n't") {
			return "a condition, a negation or an expectation"
		}
	}
	for k := to; k < min(len(s.tokens), to+8) && s.tokens[k].mark == "" && s.tokens[k].num == nil; k++ {
		if hopes[s.wordAt(k)] {
			return "the change is one from an expectation"
		}
	}
	if s.lists {
		return "values and changes are listed apart"
	}
	if s.isSetting(p) {
		return "the values are settings; the change may be of something else"
	}
	return ""
}

// otherBase tells whether a change after a pair is said to be from something else: "89 %
// faster than today".
func (s *sentence) otherBase(one *saying, p *pair) bool {
	if w := s.wordAt(one.to); !p.explicit && (w == "vs" || w == "vs." || w == "versus" || w == "over" || w == "against") {
		return true // "(+1.7 % vs. baseline)"
	}
	if !comparatives[s.wordAt(one.to)] && goods[s.wordAt(one.to)] == 0 {
		return false
	}
	for k := one.to + 1; k < min(len(s.tokens), one.to+4) && s.tokens[k].mark == ""; k++ {
		if s.wordAt(k) == "than" {
			for at := k + 1; at < min(len(s.tokens), k+4); at++ {
				if s.tokens[at].num != nil || earlier[s.wordAt(at)] {
					return false
				}
			}
			return true
		}
	}
	return false
}

// isLevel tells whether a percentage that nothing makes a change is more likely a level:
// it has a noun of its own, as in "4 % variance", or words stand between it and the
// values that follow.
func (s *sentence) isLevel(one *saying, p *pair) bool {
	if one.kind != inPercent || one.claims() || one.of {
		return false
	}
	for k := one.to; k < p.from; k++ {
		if s.wordAt(k) != "" {
			return true
		}
	}
	for k := min(p.a, p.b) + 1; k < max(p.a, p.b); k++ {
		if q := s.tokens[k].num; q != nil && q.percent() && k != one.to-1 && one.hedge == "" {
			return true // each value has a level of its own
		}
	}
	w := s.wordAt(one.to)
	return one.hedge == "" && w != "" && !function[w] && !links[w] && !clauses[w]
}

// ofBase tells whether a share is said to be of a number or of the value before.
func (s *sentence) ofBase(one *saying) bool {
	for k := one.to; k < min(len(s.tokens), one.to+5) && s.tokens[k].mark == ""; k++ {
		if s.tokens[k].num != nil || earlier[s.wordAt(k)] {
			return true
		}
	}
	return false
}

var hopes = set("hoped expected planned promised required needed asked predicted anticipated goal target objective limit budget")

// isSetting tells whether a pair is of something that one sets.
func (s *sentence) isSetting(p *pair) bool {
	counted := false
	for _, i := range []int{p.a, p.b} {
		q := s.tokens[i].num
		if q.unit.dim == dimHertz {
			return true
		}
		if q.unit.dim == dimCount && len(q.nouns) > 0 {
			counted = true
			last := q.nouns[len(q.nouns)-1]
			if settings[last] || settings[last+"s"] || settings[q.nouns[0]] && p.metric == "" {
				return true
			}
		}
	}
	if counted || s.tokens[p.a].num.percent() && p.metric == metricCPU {
		return false
	}
	measured := s.tokens[p.a].num.unit.dim == dimRate
	words := 0
	for k := p.from - 1; k >= max(0, p.from-8) && words < 3; k-- {
		t := &s.tokens[k]
		if t.num != nil || t.mark == ";" || t.mark == "." {
			break
		}
		if t.word == "" || function[t.word] || p.verb == t.word || s.wordAt(k-1) == "per" {
			continue
		}
		words++
		if s.tokens[p.a].num.unit.dim == dimTime {
			if timers[t.word] {
				return true
			}
			continue
		}
		if t.word == "offered" || t.word == "arrival" || t.word == "load" {
			return true
		}
		if measured || metricWords[t.word] != "" && !settings[t.word] {
			return false
		}
		if settings[t.word] || strings.ContainsAny(t.word, "_.=") {
			return true
		}
	}
	return false
}
