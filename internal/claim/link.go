package claim

// linked finds the pair that a change is said of: one that ends right before it, or
// one that follows it.
func (s *sentence) linked(one *saying) (pair, bool) {
	best, found := pair{}, false
	for i := range s.pairs {
		// "doubled from 41 k to 82 k"
		if p := &s.pairs[i]; p.from == one.to && s.wordAt(p.from) == "from" && one.kind != inPoints {
			return *p, true
		}
	}
	for i := range s.pairs {
		p := &s.pairs[i]
		if one.kind == inPoints && !s.tokens[p.a].num.percent() {
			continue
		}
		if !s.ofPair(one, p) {
			continue
		}
		if p.to <= one.from && s.follows(p, one) || p.from < one.from && one.to < p.to {
			if !found || p.to > best.to {
				best, found = *p, true
			}
		}
	}
	if found {
		return best, true
	}
	if p, ok := s.costAndRate(one); ok {
		return p, true
	}
	for i := range s.pairs {
		p := &s.pairs[i]
		if p.from >= one.to && s.leads(one, p) && s.ofPair(one, p) {
			return *p, true
		}
	}
	return pair{}, false
}

// costAndRate finds the cost of an operation where utilisation is said to have changed
// and the sentence gives both of its factors.
func (s *sentence) costAndRate(one *saying) (pair, bool) {
	if one.metric != metricCPU || len(s.pairs) == 0 || len(s.pairs) > 2 {
		return pair{}, false
	}
	if p := &s.pairs[0]; len(s.pairs) == 1 {
		// The same digits are no chance.
		same := p.metric == metricCost && p.to <= one.from && one.decimals >= 1 && judge(one, s.change(p)).Status == Holds
		return *p, same
	}
	for i := range s.pairs {
		p, o := &s.pairs[i], &s.pairs[1-i]
		if p.metric == metricCost && o.metric == metricThroughput && max(p.to, o.to) <= one.from {
			return *p, s.follows(o, one) || s.follows(p, one)
		}
	}
	return pair{}, false
}

// follows tells whether nothing but links stands between a pair and the change after
// it. Other changes of the same pair may stand there too.
func (s *sentence) follows(p *pair, one *saying) bool {
	for k := s.skipTail(s.skipLabel(p.to), one.from); k < one.from; k++ {
		t := &s.tokens[k]
		switch {
		case p.metric == metricCost && one.metric == metricCPU && (metricWords[t.word] == metricCPU || t.word == "usage" || t.word == "cycles"):
		case s.inSaying(k), s.condition[k], t.word != "" && s.owned(k, p.b):
		case t.num != nil:
			return false
		case t.word != "":
			m := metricWords[t.word]
			if clauses[t.word] || !links[t.word] && (m == "" || m != p.metric) && !s.afterCondition(k) {
				return false
			}
		case t.mark == ";" || t.mark == "." || t.mark == "?":
			return false
		}
	}
	return true
}

// skipTail skips what a value is of or where it was measured, up to the comma, dash or
// bracket before a change: "desktops per host, an increase", "on the old array - a gain".
func (s *sentence) skipTail(k, end int) int {
	if k >= len(s.tokens) || s.tokens[k].word == "" || !tailWords[s.tokens[k].word] && !s.owned(k, k-1) {
		return k
	}
	for at := k; at < min(end, k+8); at++ {
		t := &s.tokens[at]
		switch {
		case t.mark == "," || t.mark == "-" || t.mark == "(" || t.mark == ":":
			return at
		case t.num != nil, t.mark == ";", t.mark == ".", clauses[t.word], t.word == "with", t.word == "using", t.word == "at":
			return k
		}
	}
	return k
}

var tailWords = set("of per on in for before after under during among across inside within between")

// skipLabel skips words in brackets right after a value: "290 (dense)".
func (s *sentence) skipLabel(k int) int {
	if k >= len(s.tokens) || s.tokens[k].mark != "(" {
		return k
	}
	for at := k + 1; at < min(len(s.tokens), k+6); at++ {
		if s.tokens[at].num != nil {
			break
		}
		if s.tokens[at].mark == ")" {
			return at + 1
		}
	}
	return k
}

// afterCondition tells whether a word belongs to a condition: "at 64 threads".
func (s *sentence) afterCondition(k int) bool {
	for at := k + 1; at <= min(len(s.tokens)-1, k+2); at++ {
		if s.condition[at] {
			return true
		}
	}
	for at := k - 1; at >= max(0, k-3); at-- {
		if s.condition[at] {
			return s.owned(k, at)
		}
		if s.tokens[at].word == "" {
			return false
		}
	}
	return false
}

// inSaying tells whether a token belongs to a change.
func (s *sentence) inSaying(k int) bool {
	for i := range s.sayings {
		if k >= s.sayings[i].from && k < s.sayings[i].to {
			return true
		}
	}
	return false
}

// leads tells whether a pair follows a change: "12 % more throughput, from 100 to
// 112", "an improvement of 12 % (100 -> 112)".
func (s *sentence) leads(one *saying, p *pair) bool {
	if p.from-one.to > 10 {
		return false
	}
	for k := one.to; k < p.from; k++ {
		t := &s.tokens[k]
		if s.condition[k] {
			continue
		}
		if t.mark == "-" && k+1 != p.from {
			return false // a statement of its own: "15 % - it brings the cost from"
		}
		if t.num != nil || clauses[t.word] || t.mark == ";" || t.mark == "." || t.mark == ")" || t.word == "to" || t.word == "with" || t.word == "using" || t.word == "going" || t.word == "moving" || t.word == "switching" {
			return false
		}
	}
	return true
}

// mostLoose bounds the pairs that are looked through for one change.
const mostLoose = 20

// loose are the pairs of like values that nothing joins.
func (s *sentence) loose() []pair {
	var all []pair
	var free []int
	for _, i := range s.numbers {
		q := s.tokens[i].num
		if !s.condition[i] && !q.percent() && !q.points && !q.times && q.sign == 0 && !s.inSaying(i) {
			free = append(free, i)
		}
	}
	for x, i := range free {
		for _, j := range free[x+1:] {
			a, b := s.tokens[i].num, s.tokens[j].num
			if j > i+1 && a.like(b) && (a.unit.dim != "" || b.unit.dim == "") {
				p := pair{a: i, b: j, from: i, to: j + 1, either: !s.ordered(i, j)}
				s.frameLoose(&p)
				if all = append(all, p); len(all) >= mostLoose {
					return all
				}
			}
		}
	}
	return all
}

// frameLoose reads the metric of a loose pair without touching its units.
func (s *sentence) frameLoose(p *pair) {
	a, b := *s.tokens[p.a].num, *s.tokens[p.b].num
	s.frame(p)
	*s.tokens[p.a].num, *s.tokens[p.b].num = a, b
}

// sayingBetween tells whether a change is stated between the values of a pair.
func (s *sentence) sayingBetween(p *pair) bool {
	for k := p.a + 1; k < p.b; k++ {
		if s.inSaying(k) {
			return true
		}
	}
	return false
}

// beside tells whether a change stands close enough to a loose pair, in the same
// statement, to be said of it.
func (s *sentence) beside(one *saying, p *pair) bool {
	if one.kind == asDifference || s.tokens[p.a].num.unit.dim == "" || s.tokens[p.b].num.unit.dim == "" {
		return false
	}
	from, to := min(one.from, p.from), max(one.to, p.to)
	return to-from <= 24 && !s.hasMark(from, to, ";") && !s.hasMark(from, to, ":") && s.tokens[p.a].num.value != s.tokens[p.b].num.value
}

// target is the value that a change leads to, as in "25 % to 30,000"; -1 for none.
func (s *sentence) target(one *saying) int {
	for k := one.to; k < min(len(s.tokens), one.to+8); k++ {
		t := &s.tokens[k]
		if t.num != nil || clauses[t.word] || t.word == "from" || t.mark == "(" || t.mark == ";" {
			return -1
		}
		if t.word == "to" || t.mark == "->" {
			for j := k + 1; j < min(len(s.tokens), k+4); j++ {
				if q := s.tokens[j].num; q != nil {
					if q.percent() || q.times || q.points || s.level[j] {
						return -1
					}
					return j
				}
				if w := s.wordAt(j); w != "" && w != "about" && w != "just" && w != "only" && w != "around" && w != "roughly" && w != "a" && w != "the" && w != "some" {
					return -1
				}
			}
			return -1
		}
	}
	return -1
}

// origin is the value that a change starts from, and the one that a chain started
// from: in this sentence or in the one before it.
func (s *sentence) origin(one *saying, to int) (from, start *quantity, ok bool) {
	target := s.tokens[to].num
	var values []*quantity
	collect := func(of *sentence, until int) {
		for _, i := range of.numbers {
			q := of.tokens[i].num
			if i < until && !of.condition[i] && !q.percent() && !q.times && !q.points && q.like(target) && q.sign == 0 {
				values = append(values, q)
			}
		}
	}
	if s.before != nil {
		collect(s.before, len(s.before.tokens))
	}
	inBefore := len(values)
	collect(s, one.from)
	if len(values) == 0 {
		return nil, nil, false
	}
	from = values[len(values)-1]
	start = values[0]
	if len(values) == 1 {
		start = s.derived(from)
	}
	if !one.further && len(values) == inBefore && len(values) != 1 {
		return nil, nil, false
	}
	return from, start, true
}

// derived is the value that a first change must have started from: 40,000 where 25 %
// less are 30,000.
func (s *sentence) derived(value *quantity) *quantity {
	for _, of := range []*sentence{s, s.before} {
		if of == nil {
			continue
		}
		for i := range of.sayings {
			one := &of.sayings[i]
			at := of.target(one)
			if at < 0 || of.tokens[at].num != value || one.kind != inPercent || one.high >= 100 {
				continue
			}
			k := 1 - one.high/100
			if one.direction > 0 || one.sign > 0 {
				k = 1 + one.high/100
			}
			q := *value
			q.value, q.half = value.value/k, value.half/k
			return &q
		}
	}
	return nil
}

// sure tells whether the value before is named in the same statement: "from 40,000".
func (s *sentence) sure(one *saying, to int) bool {
	for k := one.from - 1; k >= max(0, one.from-8); k-- {
		if s.tokens[k].num != nil {
			return s.wordAt(s.skipBack(k)) == "from"
		}
	}
	return false
}

func (s *sentence) change(p *pair) *change {
	return &change{a: s.tokens[p.a].num, b: s.tokens[p.b].num, metric: p.metric, direction: p.direction, good: p.good, either: p.either}
}
