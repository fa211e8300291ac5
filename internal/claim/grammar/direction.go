package grammar

import (
	"strings"

	"plimsoll/internal/claim/number"
)

// verbBefore is the nearest word of direction in the phrase that ends at a token.
func verbBefore(s *Sentence, at int) string {
	for k := at - 1; k >= max(0, at-7); k-- {
		t := &s.Tokens[k]
		percent := t.Num != nil && (t.Num.Percent() || t.Num.Times)
		comma := t.Mark == "," && k > 0 && s.Tokens[k-1].Num != nil
		if t.Word == "" && !comma && !percent || number.Clauses[t.Word] {
			return ""
		}
		if t.Word == "up" || t.Word == "down" {
			if w := s.WordAt(k + 1); w != "" && !number.Function[w] && !number.Links[w] {
				continue // "boot up time"
			}
			if paced(s, k, "speed", "sped") {
				return "sped"
			}
			if paced(s, k, "slow") {
				return "slowdown"
			}
		}
		if s.WordAt(k-1) == "of" {
			continue // "the number of jumps"
		}
		if number.Ups[t.Word] || number.Downs[t.Word] || number.Goods[t.Word] != 0 {
			return t.Word
		}
	}
	return ""
}

// paced reports whether "up" or "down" belongs to a verb of pace: "speeds the scan up".
func paced(s *Sentence, k int, verbs ...string) bool {
	for at := k - 1; at >= max(0, k-8); at-- {
		for _, v := range verbs {
			if strings.HasPrefix(s.WordAt(at), v) {
				return true
			}
		}
	}
	return false
}

var paces = number.Set("frequency often rate granularity resolution precision")

// often reports whether times are given for a frequency: less time means more often.
func often(s *Sentence, p *Pair) bool {
	for k := p.From - 1; k >= max(0, p.From-8); k-- {
		if paces[s.WordAt(k)] {
			return true
		}
	}
	return false
}
