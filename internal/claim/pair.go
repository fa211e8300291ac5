package claim

// pair is two values of the same thing, before and after.
type pair struct {
	a, b      int // tokens of the value before and of the value after
	from, to  int // tokens
	explicit  bool
	either    bool // the text does not say which of the two is the base
	direction int
	good      int
	metric    string
	verb      string
}

// findConditions marks numbers that say under what a value was measured: "8 ms at
// 64 threads". They belong to the value before them.
func (s *sentence) findConditions() {
	for k := 1; k < len(s.numbers); k++ {
		i, value := s.numbers[k], s.numbers[k-1]
		q, of := s.tokens[i].num, s.tokens[value].num
		at := i - 1
		for at > value && (s.wordAt(at) == "a" || s.wordAt(at) == "an" || s.wordAt(at) == "the" || s.wordAt(at) == "only") {
			at--
		}
		if at-value > 4 || s.breaks(value+1, at) {
			continue
		}
		word, mark := s.wordAt(at), s.tokens[at].mark
		apart := q.unit.dim != "" && of.unit.dim != "" && !q.like(of)
		switch {
		case q.percent() || q.points || q.times || of.percent():
			continue
		case word == "at" || mark == "@":
			s.condition[i] = true
		case (word == "with" || word == "under" || word == "for" || word == "on" || word == "using") && apart && s.concurrent(q):
			s.condition[i] = true
		case mark == "(" && apart && s.concurrent(q):
			s.condition[i] = true
		}
		if s.condition[i] {
			s.load[value] = i
		}
	}
}

// breaks tells whether a new statement begins between two tokens.
func (s *sentence) breaks(from, to int) bool {
	for k := from; k < to; k++ {
		if clauses[s.tokens[k].word] || s.tokens[k].mark == ";" || s.tokens[k].mark == "," {
			return true
		}
	}
	return false
}

func (s *sentence) concurrent(q *quantity) bool {
	for _, n := range q.nouns {
		if concurrency[n] {
			return true
		}
	}
	return q.unit.dim == dimRate
}

// findPairs finds values that the text sets against each other.
func (s *sentence) findPairs() {
	for k, i := range s.numbers {
		if s.condition[i] || s.tokens[i].num.times || s.tokens[i].num.points || s.tokens[i].num.sign != 0 {
			continue
		}
		if _, ranged := s.rangeAt(i); ranged && s.tokens[i+1].mark == "-" && s.tokens[i].num.unit.dim == "" {
			continue
		}
		j := s.mate(k)
		if j < 0 {
			continue
		}
		if p, ok := s.explicit(i, j); ok {
			s.frame(&p)
			s.pairs = append(s.pairs, p)
			s.level[i], s.level[j] = true, true
		}
	}
}

// mate is the next number that can be compared with the k-th.
func (s *sentence) mate(k int) int {
	q := s.tokens[s.numbers[k]].num
	for _, j := range s.numbers[k+1 : min(len(s.numbers), k+6)] {
		o := s.tokens[j].num
		if o.sign != 0 && s.wordAt(j-1) == "to" {
			return -1
		}
		if s.condition[j] || o.times || o.points || o.sign != 0 || o.percent() != q.percent() && o.percent() {
			continue
		}
		if q.percent() && !o.percent() || !q.like(o) {
			return -1
		}
		return j
	}
	return -1
}

// explicit reads the words that join two values.
func (s *sentence) explicit(i, j int) (pair, bool) {
	p := pair{a: i, b: j, from: i, to: j + 1, explicit: true}
	start := s.skipBack(i)
	joint := s.skipBack(j)
	word := s.wordAt(joint)
	words := s.between(i, j)
	far := len(words) > 16 || s.breaksPair(i+1, j)
	switch {
	case s.hasMark(i+1, j, "->"):
		return p, len(words) <= 6 && !far && !s.hasMark(i+1, j, ",") && !s.hasMark(i+1, j, "=")
	case s.wordAt(start) == "from" && word == "to" && !far:
		p.from = start
		return p, true
	case word == "from" && s.leadsOn(j):
		return p, false // that value begins a pair of its own
	case word == "from" && s.wordAt(start) == "to" && !far, word == "from" && !far && (s.directed(i, j, "up") || s.directed(i, j, "down")),
		word == "from" && !far && s.percentBetween(i, j):
		p.a, p.b = j, i
		return p, true
	case word == "was" || word == "were" || word == "previously" || word == "formerly" || word == "originally":
		if s.hasMark(i+1, j, "(") || word != "was" && word != "were" {
			p.a, p.b = j, i
			return p, true
		}
	case !far && (words["than"] > 0 || words["instead"] > 0 && word == "of" || words["rather"] > 0):
		p.a, p.b = j, i
		return p, !s.hedgeThan(i, j)
	case !far && (words["vs"]+words["vs."]+words["versus"]+words["against"] > 0 || s.phrase(i, j, "compared") || s.phrase(i, j, "relative")):
		p.a, p.b, p.either = j, i, true
		return p, true
	case !far && word == "to" && (len(words) == 2 && words["down"] == 1 || len(words) == 1 && s.bracketed(i, j)) && !s.tokens[i].num.percent():
		return p, true
	case !far && s.timesThe(i, j):
		p.a, p.b = j, i
		return p, true
	case !far && len(words) == 1 && word == "to" && !s.tokens[i].num.percent() && s.wordAt(start) != "between" && s.wordAt(start) != "by":
		return p, s.verbBefore(start+1) != "" || j+1 < len(s.tokens) && s.tokens[j+1].mark == "(" || s.changeSoon(j)
	}
	return p, false
}

// bracketed tells whether two values stand alone in brackets: "(9,830 to 10,430 tps)".
func (s *sentence) bracketed(i, j int) bool {
	return i > 0 && s.tokens[i-1].mark == "(" && s.hasMark(j+1, min(len(s.tokens), j+4), ")")
}

// timesThe tells whether the first of two values is a multiple of the second: "605 MB/s,
// 16 times the 38 MB/s".
func (s *sentence) timesThe(i, j int) bool {
	for k := i + 1; k+1 < j; k++ {
		if q := s.tokens[k].num; q != nil && q.times {
			return s.wordAt(k+1) == "the" && k+2 >= s.skipBack(j)+1
		}
	}
	return false
}

// leadsOn tells whether "to" and another value follow a value.
func (s *sentence) leadsOn(j int) bool {
	for k := j + 1; k+1 < min(len(s.tokens), j+5); k++ {
		if s.tokens[k].num != nil || s.tokens[k].mark != "" {
			return false
		}
		if s.wordAt(k) == "to" {
			return s.tokens[k+1].num != nil || k+2 < len(s.tokens) && s.tokens[k+2].num != nil
		}
	}
	return false
}

// changeSoon tells whether a percentage with a direction follows a value.
func (s *sentence) changeSoon(j int) bool {
	for k := j + 1; k+1 < min(len(s.tokens), j+7); k++ {
		if q := s.tokens[k].num; q != nil {
			w := s.wordAt(k + 1)
			return (q.percent() || q.times) && (ups[w] || downs[w] || goods[w] != 0)
		}
	}
	return false
}

// directed tells whether a value is said to be up or down from another; "up to" is a
// bound.
func (s *sentence) directed(i, j int, word string) bool {
	for k := i + 1; k < j; k++ {
		if s.wordAt(k) == word && s.wordAt(k+1) != "to" {
			return true
		}
	}
	return false
}

// phrase tells whether a word with "to" or "with" after it stands between two values.
func (s *sentence) phrase(i, j int, word string) bool {
	for k := i + 1; k+1 < j; k++ {
		if s.wordAt(k) == word && (s.wordAt(k+1) == "to" || s.wordAt(k+1) == "with") {
			return true
		}
	}
	return false
}

// breaksPair tells whether two values belong to different statements.
func (s *sentence) breaksPair(from, to int) bool {
	for k := from; k < to; k++ {
		if w := s.tokens[k].word; clauses[w] && w != "when" || s.tokens[k].mark == ";" {
			return true
		}
	}
	return false
}

// hedgeThan tells whether the "than" between two values is that of a bound: "more than",
// "smaller than".
func (s *sentence) hedgeThan(i, j int) bool {
	for k := i + 1; k < j; k++ {
		if s.wordAt(k) == "than" {
			before := s.wordAt(k - 1)
			return k == s.skipBack(j) && (!s.percentBetween(i, j) || s.tokens[k-2].num == nil) && comparatives[before]
		}
	}
	return false
}

func (s *sentence) percentBetween(i, j int) bool {
	for k := i + 1; k < j; k++ {
		if q := s.tokens[k].num; q != nil && (q.percent() || q.times || q.points) {
			return true
		}
	}
	return false
}

// between are the words between two values, without conditions and without what stands
// in brackets there: that joins nothing outside.
func (s *sentence) between(i, j int) map[string]int {
	words := map[string]int{}
	for k := i + 1; k < j; k++ {
		if s.tokens[k].mark == "(" {
			if end := s.closing(k, j); end > 0 {
				k = end
				continue
			}
		}
		if w := s.tokens[k].word; w != "" && !s.owned(k, i) {
			words[w]++
		}
	}
	return words
}

// closing is where a bracket that opens at k closes before j; 0 for nowhere.
func (s *sentence) closing(k, j int) int {
	for ; k < j; k++ {
		if s.tokens[k].mark == ")" {
			return k
		}
	}
	return 0
}

// owned tells whether a word is the noun that the number i counts.
func (s *sentence) owned(k, i int) bool {
	if s.tokens[i].num == nil {
		return false
	}
	for _, n := range s.tokens[i].num.nouns {
		if singular(s.tokens[k].text) == n && k <= i+3 {
			return true
		}
	}
	return false
}

// skipBack is the token before a value and before its hedge.
func (s *sentence) skipBack(i int) int {
	k := i - 1
	for k > 0 {
		switch w := s.wordAt(k); {
		case w == "just" || w == "only" || w == "about" || w == "around" || w == "roughly" || w == "over" || w == "nearly" || w == "almost" || w == "approximately" || w == "some" || w == "a" || w == "the" || w == "an":
			k--
		case s.tokens[k].mark == "$" || s.tokens[k].mark == "\u20ac" || s.tokens[k].mark == "~" || s.tokens[k].mark == "\u2248":
			k--
		default:
			return k
		}
	}
	return k
}

func (s *sentence) hasMark(from, to int, mark string) bool {
	for k := from; k < to; k++ {
		if s.tokens[k].mark == mark {
			return true
		}
	}
	return false
}

// frame reads what is said about a pair: the direction of its verb and its metric.
func (s *sentence) frame(p *pair) {
	if !s.hasMark(p.from, p.to, "->") || s.verbBefore(p.from) != "" {
		p.verb = s.verbBefore(p.from)
	}
	if p.verb == "" && p.a > p.b {
		switch words := s.between(p.b, p.a); {
		case words["up"] > 0:
			p.verb = "up"
		case words["down"] > 0:
			p.verb = "down"
		}
	}
	switch {
	case ups[p.verb]:
		p.direction = 1
	case downs[p.verb]:
		p.direction = -1
	case goods[p.verb] != 0:
		p.good = goods[p.verb]
	}
	s.inherit(p)
	p.metric = s.metricOf(p)
	if p.metric == metricLatency && s.often(p) {
		p.direction, p.good = 0, 0
	}
}

// inherit gives a value the unit that is printed once for both.
func (s *sentence) inherit(p *pair) {
	a, b := s.tokens[p.a].num, s.tokens[p.b].num
	switch {
	case a.unit.dim == "" && b.unit.dim != "":
		a.unit, a.nouns = b.unit, b.nouns
	case b.unit.dim == "" && a.unit.dim != "":
		b.unit, b.nouns = a.unit, a.nouns
	}
	la, lb := s.load[p.a], s.load[p.b]
	if la > 0 && lb > 0 {
		s.inheritLoad(s.tokens[la].num, s.tokens[lb].num)
	}
}

func (s *sentence) inheritLoad(a, b *quantity) {
	switch {
	case a.unit.dim == "" && b.unit.dim != "":
		a.unit, a.nouns = b.unit, b.nouns
	case b.unit.dim == "" && a.unit.dim != "":
		b.unit, b.nouns = a.unit, a.nouns
	}
}

var (
	earlier = set("before baseline default without off originally old native stock original previously vanilla control reference initially disabled bare-metal physical")
	later   = set("after with now tuned on virtual virtualized virtualised new optimized optimised patched enabled later improved then dense")
)

// ordered tells whether the words beside two values name the first as the one before.
func (s *sentence) ordered(i, j int) bool {
	beside := func(at, from, to int, words map[string]bool) bool {
		for k := max(0, from, at-5); k <= min(len(s.tokens)-1, to, at+4); k++ {
			if words[s.wordAt(k)] {
				return true
			}
		}
		return false
	}
	comma := j
	for k := i + 1; k < j; k++ {
		if s.tokens[k].mark == "," || clauses[s.wordAt(k)] {
			comma = k
		}
	}
	if comma < j && beside(i, 0, comma, earlier) && beside(j, comma, len(s.tokens), later) {
		return true
	}
	return beside(i, 0, j, earlier) && beside(j, i, len(s.tokens), later) && !beside(j, i, len(s.tokens), earlier)
}
