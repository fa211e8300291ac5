// Package link finds the values that a stated change belongs to, and whether that is certain.
package link

import (
	"slices"

	"plimsoll/internal/claim"
	"plimsoll/internal/claim/grammar"
	"plimsoll/internal/claim/judge"
	"plimsoll/internal/claim/number"
)

// Linked finds the pair of a change: one that ends directly before it, or one that follows it.
func Linked(s *grammar.Sentence, one *grammar.Saying) (grammar.Pair, bool) {
	best, found := grammar.Pair{}, false
	for i := range s.Pairs {
		// "doubled from 41 k to 82 k"
		if p := &s.Pairs[i]; p.From == one.To && s.WordAt(p.From) == "from" && one.Kind != grammar.InPoints {
			return *p, true
		}
	}
	for i := range s.Pairs {
		p := &s.Pairs[i]
		if one.Kind == grammar.InPoints && !s.Tokens[p.A].Num.Percent() {
			continue
		}
		if !OfPair(s, one, p) {
			continue
		}
		if p.To <= one.From && Follows(s, p, one) || p.From < one.From && one.To < p.To {
			if !found || p.To > best.To {
				best, found = *p, true
			}
		}
	}
	if found {
		return best, true
	}
	if p, ok := costAndRate(s, one); ok {
		return p, true
	}
	for i := range s.Pairs {
		p := &s.Pairs[i]
		if p.From >= one.To && Leads(s, one, p) && OfPair(s, one, p) {
			return *p, true
		}
	}
	return grammar.Pair{}, false
}

// costAndRate finds the cost per operation if the sentence states a change of utilisation and
// gives both of its factors.
func costAndRate(s *grammar.Sentence, one *grammar.Saying) (grammar.Pair, bool) {
	if one.Metric != number.MetricCPU || len(s.Pairs) == 0 || len(s.Pairs) > 2 {
		return grammar.Pair{}, false
	}
	if p := &s.Pairs[0]; len(s.Pairs) == 1 {
		// Equal digits are not a coincidence.
		same := p.Metric == number.MetricCost && p.To <= one.From && one.Decimals >= 1 && judge.Of(one, Change(s, p)).Status == claim.Holds
		return *p, same
	}
	for i := range s.Pairs {
		p, o := &s.Pairs[i], &s.Pairs[1-i]
		if p.Metric == number.MetricCost && o.Metric == number.MetricThroughput && max(p.To, o.To) <= one.From {
			return *p, Follows(s, o, one) || Follows(s, p, one)
		}
	}
	return grammar.Pair{}, false
}

// Follows reports whether only link words, and other changes of the same pair, stand between a
// pair and the change after it.
func Follows(s *grammar.Sentence, p *grammar.Pair, one *grammar.Saying) bool {
	for k := skipTail(s, skipLabel(s, p.To), one.From); k < one.From; k++ {
		t := &s.Tokens[k]
		switch {
		case p.Metric == number.MetricCost && one.Metric == number.MetricCPU && (number.MetricWords[t.Word] == number.MetricCPU || t.Word == "usage" || t.Word == "cycles"):
		case InSaying(s, k), s.Condition[k], t.Word != "" && grammar.Owned(s, k, p.B):
		case t.Num != nil:
			return false
		case t.Word != "":
			m := number.MetricWords[t.Word]
			if number.Clauses[t.Word] || !number.Links[t.Word] && (m == "" || m != p.Metric) && !afterCondition(s, k) {
				return false
			}
		case t.Mark == ";" || t.Mark == "." || t.Mark == "?":
			return false
		}
	}
	return true
}

// skipTail skips qualifiers of a value up to the comma, dash or bracket before a change:
// "desktops per host, an increase", "on the old array - a gain".
func skipTail(s *grammar.Sentence, k, end int) int {
	if k >= len(s.Tokens) || s.Tokens[k].Word == "" || !tailWords[s.Tokens[k].Word] && !grammar.Owned(s, k, k-1) {
		return k
	}
	for at := k; at < min(end, k+8); at++ {
		t := &s.Tokens[at]
		switch {
		case t.Mark == "," || t.Mark == "-" || t.Mark == "(" || t.Mark == ":":
			return at
		case t.Num != nil, t.Mark == ";", t.Mark == ".", number.Clauses[t.Word], t.Word == "with", t.Word == "using", t.Word == "at":
			return k
		}
	}
	return k
}

var tailWords = number.Set("of per on in for before after under during among across inside within between")

// skipLabel skips words in brackets right after a value: "290 (dense)".
func skipLabel(s *grammar.Sentence, k int) int {
	if k >= len(s.Tokens) || s.Tokens[k].Mark != "(" {
		return k
	}
	for at := k + 1; at < min(len(s.Tokens), k+6); at++ {
		if s.Tokens[at].Num != nil {
			break
		}
		if s.Tokens[at].Mark == ")" {
			return at + 1
		}
	}
	return k
}

// afterCondition reports whether a word belongs to a condition: "at 64 threads".
func afterCondition(s *grammar.Sentence, k int) bool {
	for at := k + 1; at <= min(len(s.Tokens)-1, k+2); at++ {
		if s.Condition[at] {
			return true
		}
	}
	for at := k - 1; at >= max(0, k-3); at-- {
		if s.Condition[at] {
			return grammar.Owned(s, k, at)
		}
		if s.Tokens[at].Word == "" {
			return false
		}
	}
	return false
}

// InSaying reports whether a token belongs to a change.
func InSaying(s *grammar.Sentence, k int) bool {
	return slices.ContainsFunc(s.Sayings, func(one grammar.Saying) bool { return k >= one.From && k < one.To })
}

// Leads reports whether a pair follows a change: "12 % more throughput, from 100 to
// 112", "an improvement of 12 % (100 -> 112)".
func Leads(s *grammar.Sentence, one *grammar.Saying, p *grammar.Pair) bool {
	if p.From-one.To > 10 {
		return false
	}
	for k := one.To; k < p.From; k++ {
		t := &s.Tokens[k]
		if s.Condition[k] {
			continue
		}
		if t.Mark == "-" && k+1 != p.From {
			return false // a separate statement: "15 % - it brings the cost from"
		}
		if t.Num != nil || number.Clauses[t.Word] || t.Mark == ";" || t.Mark == "." || t.Mark == ")" || t.Word == "to" || t.Word == "with" || t.Word == "using" || t.Word == "going" || t.Word == "moving" || t.Word == "switching" {
			return false
		}
	}
	return true
}

// mostLoose bounds the pairs considered for one change.
const mostLoose = 20

// Loose are the pairs of comparable values that no word joins.
func Loose(s *grammar.Sentence) []grammar.Pair {
	var all []grammar.Pair
	var free []int
	for _, i := range s.Numbers {
		q := s.Tokens[i].Num
		if !s.Condition[i] && !q.Percent() && !q.Points && !q.Times && q.Sign == 0 && !InSaying(s, i) {
			free = append(free, i)
		}
	}
	for x, i := range free {
		for _, j := range free[x+1:] {
			a, b := s.Tokens[i].Num, s.Tokens[j].Num
			if j > i+1 && a.Like(b) && (a.Unit.Dim != "" || b.Unit.Dim == "") {
				p := grammar.Pair{A: i, B: j, From: i, To: j + 1, Either: !grammar.Ordered(s, i, j)}
				frameLoose(s, &p)
				if all = append(all, p); len(all) >= mostLoose {
					return all
				}
			}
		}
	}
	return all
}

// frameLoose determines the metric of a loose pair without changing its units.
func frameLoose(s *grammar.Sentence, p *grammar.Pair) {
	a, b := *s.Tokens[p.A].Num, *s.Tokens[p.B].Num
	grammar.Frame(s, p)
	*s.Tokens[p.A].Num, *s.Tokens[p.B].Num = a, b
}

// SayingBetween reports whether a change is stated between the values of a pair.
func SayingBetween(s *grammar.Sentence, p *grammar.Pair) bool {
	return s.Any(p.A+1, p.B, func(k int) bool { return InSaying(s, k) })
}

// Beside reports whether a change is close enough to a loose pair, in the same statement, to
// belong to it.
func Beside(s *grammar.Sentence, one *grammar.Saying, p *grammar.Pair) bool {
	if one.Kind == grammar.AsDifference || s.Tokens[p.A].Num.Unit.Dim == "" || s.Tokens[p.B].Num.Unit.Dim == "" {
		return false
	}
	from, to := min(one.From, p.From), max(one.To, p.To)
	return to-from <= 24 && !grammar.HasMark(s, from, to, ";") && !grammar.HasMark(s, from, to, ":") && s.Tokens[p.A].Num.Value != s.Tokens[p.B].Num.Value
}

// beforeTarget may stand before the value that a change leads to.
var beforeTarget = number.Set("about just only around roughly a the some")

// Target is the value that results from a change, as in "25 % to 30,000"; -1 for none.
func Target(s *grammar.Sentence, one *grammar.Saying) int {
	for k := one.To; k < min(len(s.Tokens), one.To+8); k++ {
		t := &s.Tokens[k]
		if t.Num != nil || number.Clauses[t.Word] || t.Word == "from" || t.Mark == "(" || t.Mark == ";" {
			return -1
		}
		if t.Word == "to" || t.Mark == "->" {
			for j := k + 1; j < min(len(s.Tokens), k+4); j++ {
				if q := s.Tokens[j].Num; q != nil {
					if q.Percent() || q.Times || q.Points || s.Level[j] {
						return -1
					}
					return j
				}
				if w := s.WordAt(j); w != "" && !beforeTarget[w] {
					return -1
				}
			}
			return -1
		}
	}
	return -1
}

// Origin is the value before a change, and the first value of a chain of changes: in this
// sentence or the one before.
func Origin(s *grammar.Sentence, one *grammar.Saying, to int) (from, start *number.Quantity, ok bool) {
	target := s.Tokens[to].Num
	var values []*number.Quantity
	collect := func(of *grammar.Sentence, until int) {
		for _, i := range of.Numbers {
			q := of.Tokens[i].Num
			if i < until && !of.Condition[i] && !q.Percent() && !q.Times && !q.Points && q.Like(target) && q.Sign == 0 {
				values = append(values, q)
			}
		}
	}
	if s.Before != nil {
		collect(s.Before, len(s.Before.Tokens))
	}
	inBefore := len(values)
	collect(s, one.From)
	if len(values) == 0 {
		return nil, nil, false
	}
	from = values[len(values)-1]
	start = values[0]
	if len(values) == 1 {
		start = derived(s, from)
	}
	if !one.Further && len(values) == inBefore && len(values) != 1 {
		return nil, nil, false
	}
	return from, start, true
}

// derived is the computed base of a first change: 40,000 if 25 % less are 30,000.
func derived(s *grammar.Sentence, value *number.Quantity) *number.Quantity {
	for _, of := range []*grammar.Sentence{s, s.Before} {
		if of == nil {
			continue
		}
		for i := range of.Sayings {
			one := &of.Sayings[i]
			at := Target(of, one)
			if at < 0 || of.Tokens[at].Num != value || one.Kind != grammar.InPercent || one.High >= 100 {
				continue
			}
			k := 1 - one.High/100
			if one.Direction > 0 || one.Sign > 0 {
				k = 1 + one.High/100
			}
			q := *value
			q.Value, q.Half = value.Value/k, value.Half/k
			return &q
		}
	}
	return nil
}

// Sure reports whether the same statement names the value before: "from 40,000".
func Sure(s *grammar.Sentence, one *grammar.Saying, to int) bool {
	for k := one.From - 1; k >= max(0, one.From-8); k-- {
		if s.Tokens[k].Num != nil {
			return s.WordAt(grammar.SkipBack(s, k)) == "from"
		}
	}
	return false
}

// Change is a pair with the statements about it.
func Change(s *grammar.Sentence, p *grammar.Pair) *judge.Change {
	return &judge.Change{A: s.Tokens[p.A].Num, B: s.Tokens[p.B].Num, Metric: p.Metric, Direction: p.Direction, Good: p.Good, Either: p.Either}
}
