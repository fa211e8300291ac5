package grammar

import (
	"strings"

	"plimsoll/internal/claim/number"
)

// metricAround is the metric that is named with a change: after it, else before it.
func metricAround(s *Sentence, one *Saying) string {
	for at := one.To; at < min(len(s.Tokens), one.To+6); at++ {
		t := &s.Tokens[at]
		if t.Word == "" || number.Clauses[t.Word] || t.Word == "from" || t.Word == "than" || t.Word == "at" || t.Word == "with" {
			break
		}
		if m := metricAt(s, at); m != "" {
			return m
		}
	}
	for at := one.From - 1; at >= max(0, one.From-7); at-- {
		t := &s.Tokens[at]
		if t.Word == "" || number.Clauses[t.Word] {
			break
		}
		if m := metricAt(s, at); m != "" {
			return m
		}
	}
	return ""
}

// metricAt is the metric that the word at a place names. CPU per operation is a cost.
func metricAt(s *Sentence, at int) string {
	m := number.MetricWords[s.WordAt(at)]
	if m != number.MetricCPU && s.WordAt(at) != "cycles" {
		return m
	}
	for k := at + 1; k <= at+3; k++ {
		if w := s.WordAt(k); w == "per" || k < len(s.Tokens) && s.Tokens[k].Mark == "/" {
			return number.MetricCost
		}
	}
	return m
}

// metricOf is what a pair measures: by the words before it, else by its unit.
func metricOf(s *Sentence, p *Pair) string {
	named := metricBefore(s, p)
	switch d := s.Tokens[p.A].Num.Unit.Dim; {
	case d == number.DimTime && named != number.MetricCost:
		return number.MetricLatency
	case d == number.DimByteSec || d == number.DimBitSec:
		return number.MetricThroughput
	case d == number.DimBytes && named == number.MetricLatency:
		return number.MetricSpace
	}
	if named != "" {
		return named
	}
	return metricByUnit(s, p)
}

// metricBefore is the metric that the words before a pair name.
func metricBefore(s *Sentence, p *Pair) string {
	for k := p.From - 1; k >= max(0, p.From-10); k-- {
		t := &s.Tokens[k]
		if t.Mark == ";" || t.Mark == "." {
			break
		}
		if t.Num != nil && !t.Num.Percent() && !t.Num.Times {
			break
		}
		if m := metricAt(s, k); m != "" {
			if m == number.MetricCPU && strings.Contains(strings.ToLower(s.TextOf(max(0, k-4), p.From)), "per ") {
				return number.MetricCost
			}
			return m
		}
	}
	return ""
}

func metricByUnit(s *Sentence, p *Pair) string {
	for _, i := range []int{p.A, p.B} {
		q := s.Tokens[i].Num
		switch q.Unit.Dim {
		case number.DimTime:
			return number.MetricLatency
		case number.DimRate:
			return number.MetricThroughput
		case number.DimBytes:
			return number.MetricSpace
		case number.DimPower:
			return number.MetricPower
		}
		for _, n := range q.Nouns {
			for _, m := range []string{number.MetricWords[n], number.MetricWords[n+"s"]} {
				// A number of operations is not a rate: fewer may be better.
				if m != "" && m != number.MetricThroughput {
					return m
				}
			}
		}
	}
	return ""
}
