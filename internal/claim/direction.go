package claim

import "strings"

// verbBefore is the nearest word of direction in the phrase that ends at a token.
func (s *sentence) verbBefore(at int) string {
	for k := at - 1; k >= max(0, at-7); k-- {
		t := &s.tokens[k]
		percent := t.num != nil && (t.num.percent() || t.num.times)
		comma := t.mark == "," && k > 0 && s.tokens[k-1].num != nil
		if t.word == "" && !comma && !percent || clauses[t.word] {
			return ""
		}
		if t.word == "up" || t.word == "down" {
			if w := s.wordAt(k + 1); w != "" && !function[w] && !links[w] {
				continue // "boot up time"
			}
			if s.paced(k, "speed", "sped") {
				return "sped"
			}
			if s.paced(k, "slow") {
				return "slowdown"
			}
		}
		if s.wordAt(k-1) == "of" {
			continue // "the number of jumps"
		}
		if ups[t.word] || downs[t.word] || goods[t.word] != 0 {
			return t.word
		}
	}
	return ""
}

// paced tells whether "up" or "down" belongs to a verb of pace: "speeds the scan up".
func (s *sentence) paced(k int, verbs ...string) bool {
	for at := k - 1; at >= max(0, k-8); at-- {
		for _, v := range verbs {
			if strings.HasPrefix(s.wordAt(at), v) {
				return true
			}
		}
	}
	return false
}

var paces = set("frequency often rate granularity resolution precision")

// often tells whether times are given for how often something happens: the less, the
// more often.
func (s *sentence) often(p *pair) bool {
	for k := p.from - 1; k >= max(0, p.from-8); k-- {
		if paces[s.wordAt(k)] {
			return true
		}
	}
	return false
}
