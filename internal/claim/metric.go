package claim

import "strings"

// metricAround is the metric that is named with a change: after it, else before it.
func (s *sentence) metricAround(one *saying) string {
	for at := one.to; at < min(len(s.tokens), one.to+6); at++ {
		t := &s.tokens[at]
		if t.word == "" || clauses[t.word] || t.word == "from" || t.word == "than" || t.word == "at" || t.word == "with" {
			break
		}
		if m := s.metricAt(at); m != "" {
			return m
		}
	}
	for at := one.from - 1; at >= max(0, one.from-7); at-- {
		t := &s.tokens[at]
		if t.word == "" || clauses[t.word] {
			break
		}
		if m := s.metricAt(at); m != "" {
			return m
		}
	}
	return ""
}

// metricAt is the metric that the word at a place names. CPU per operation is a cost.
func (s *sentence) metricAt(at int) string {
	m := metricWords[s.wordAt(at)]
	if m != metricCPU && s.wordAt(at) != "cycles" {
		return m
	}
	for k := at + 1; k <= at+3; k++ {
		if w := s.wordAt(k); w == "per" || k < len(s.tokens) && s.tokens[k].mark == "/" {
			return metricCost
		}
	}
	return m
}

// metricOf is what a pair measures: by the words before it, else by its unit.
func (s *sentence) metricOf(p *pair) string {
	named := s.metricBefore(p)
	switch d := s.tokens[p.a].num.unit.dim; {
	case d == dimTime && named != metricCost:
		return metricLatency
	case d == dimByteSec || d == dimBitSec:
		return metricThroughput
	case d == dimBytes && named == metricLatency:
		return metricSpace
	}
	if named != "" {
		return named
	}
	return s.metricByUnit(p)
}

// metricBefore is the metric that the words before a pair name.
func (s *sentence) metricBefore(p *pair) string {
	for k := p.from - 1; k >= max(0, p.from-10); k-- {
		t := &s.tokens[k]
		if t.mark == ";" || t.mark == "." {
			break
		}
		if t.num != nil && !t.num.percent() && !t.num.times {
			break
		}
		if m := s.metricAt(k); m != "" {
			if m == metricCPU && strings.Contains(strings.ToLower(s.textOf(max(0, k-4), p.from)), "per ") {
				return metricCost
			}
			return m
		}
	}
	return ""
}

func (s *sentence) metricByUnit(p *pair) string {
	for _, i := range []int{p.a, p.b} {
		q := s.tokens[i].num
		switch q.unit.dim {
		case dimTime:
			return metricLatency
		case dimRate:
			return metricThroughput
		case dimBytes:
			return metricSpace
		case dimPower:
			return metricPower
		}
		for _, n := range q.nouns {
			for _, m := range []string{metricWords[n], metricWords[n+"s"]} {
				// A number of operations is no rate: fewer may be better.
				if m != "" && m != metricThroughput {
					return m
				}
			}
		}
	}
	return ""
}
