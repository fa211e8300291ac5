package link

import (
	"plimsoll/internal/claim/grammar"
	"plimsoll/internal/claim/number"
)

// OfPair reports whether a change may belong to a pair, by their metrics.
func OfPair(s *grammar.Sentence, one *grammar.Saying, p *grammar.Pair) bool {
	if d := s.Tokens[p.A].Num.Unit.Dim; one.Kind == grammar.AsDifference && one.Num.Unit.Dim != d && (d != "" && d != number.DimCount || one.Num.Unit.Dim != "" && one.Num.Unit.Dim != number.DimCount) {
		return false
	}
	if s.Tokens[p.A].Num.Unit.Dim == "" && one.Kind == grammar.AsFactor && one.Of {
		return true // "2.5x the IOPS: 690k compared with 276k"
	}
	if one.Metric != "" && p.Metric != "" && one.Metric != p.Metric && !(p.Metric == number.MetricCost && one.Metric == number.MetricCPU) && !sameThing(s, one, p) {
		return false
	}
	objects := objects(s, one)
	if len(objects) == 0 || s.Tokens[p.A].Num.Unit.Dim == "" {
		return true
	}
	for _, w := range objects {
		if m := number.MetricWords[w]; m != "" && (m == p.Metric || p.Metric == "" || m == number.MetricCPU && p.Metric == number.MetricCost) {
			return true
		}
		for _, i := range []int{p.A, p.B} {
			for _, n := range s.Tokens[i].Num.Nouns {
				if n == w || n == number.Singular(w) {
					return true
				}
			}
			if number.Units[w].Dim != "" && number.Units[w].Dim == s.Tokens[i].Num.Unit.Dim {
				return true
			}
		}
		for k := p.From - 1; k >= 0 && k >= p.From-12; k-- {
			if k < one.From && s.WordAt(k) == w {
				return true
			}
		}
	}
	return false
}

// objects are the nouns that a change counts: "98 % fewer allocations".
func objects(s *grammar.Sentence, one *grammar.Saying) []string {
	var all []string
	if w := s.WordAt(one.To); !grammar.Comparatives[w] && w != "additional" && w != "extra" {
		return nil
	}
	for k := one.To + 1; k < min(len(s.Tokens), one.To+4); k++ {
		w := s.WordAt(k)
		if w == "" || number.Function[w] || number.Links[w] || number.Clauses[w] {
			break
		}
		all = append(all, w)
	}
	return all
}

// sameThing reports whether two metrics with different names are the same by unit: the time of
// a request, or CPU in percent.
func sameThing(s *grammar.Sentence, one *grammar.Saying, p *grammar.Pair) bool {
	if d := s.Tokens[p.A].Num.Unit.Dim; one.Metric == number.MetricOther && (d == number.DimTime || d == number.DimBytes || d == number.DimByteSec || d == number.DimBitSec) {
		return false
	}
	return one.Metric == number.MetricOther || p.Metric == number.MetricOther || one.Metric == number.MetricThroughput && s.Tokens[p.A].Num.Unit.Dim == number.DimCount
}
