package grammar

import (
	"slices"

	"plimsoll/internal/claim/number"
)

// Pair is two values of the same thing, before and after.
type Pair struct {
	A, B      int // tokens of the value before and of the value after
	From, To  int // tokens
	Explicit  bool
	Either    bool // the text does not say which is the base
	Direction int
	Good      int
	Metric    string
	Verb      string
}

// findConditions marks numbers that are the condition of a measurement: "8 ms at 64 threads".
// They belong to the value before them.
func findConditions(s *Sentence) {
	for k := 1; k < len(s.Numbers); k++ {
		i, value := s.Numbers[k], s.Numbers[k-1]
		q, of := s.Tokens[i].Num, s.Tokens[value].Num
		at := i - 1
		for at > value && (s.WordAt(at) == "a" || s.WordAt(at) == "an" || s.WordAt(at) == "the" || s.WordAt(at) == "only") {
			at--
		}
		if at-value > 4 || Breaks(s, value+1, at) {
			continue
		}
		word, mark := s.WordAt(at), s.Tokens[at].Mark
		apart := q.Unit.Dim != "" && of.Unit.Dim != "" && !q.Like(of)
		switch {
		case q.Percent() || q.Points || q.Times || of.Percent():
			continue
		case word == "at" || mark == "@":
			s.Condition[i] = true
		case (word == "with" || word == "under" || word == "for" || word == "on" || word == "using") && apart && concurrent(q):
			s.Condition[i] = true
		case mark == "(" && apart && concurrent(q):
			s.Condition[i] = true
		}
		if s.Condition[i] {
			s.Load[value] = i
		}
	}
}

// Breaks reports whether a new statement begins between two tokens.
func Breaks(s *Sentence, from, to int) bool {
	return s.Any(from, to, func(k int) bool {
		return number.Clauses[s.Tokens[k].Word] || s.Tokens[k].Mark == ";" || s.Tokens[k].Mark == ","
	})
}

func concurrent(q *number.Quantity) bool {
	return number.IntersectSet(q.Nouns, number.Concurrency) || q.Unit.Dim == number.DimRate
}

// findPairs finds pairs of values that the text compares.
func findPairs(s *Sentence) {
	for k, i := range s.Numbers {
		if s.Condition[i] || s.Tokens[i].Num.Times || s.Tokens[i].Num.Points || s.Tokens[i].Num.Sign != 0 {
			continue
		}
		if _, ranged := rangeAt(s, i); ranged && s.Tokens[i+1].Mark == "-" && s.Tokens[i].Num.Unit.Dim == "" {
			continue
		}
		j := mate(s, k)
		if j < 0 {
			continue
		}
		if p, ok := explicit(s, i, j); ok {
			Frame(s, &p)
			s.Pairs = append(s.Pairs, p)
			s.Level[i], s.Level[j] = true, true
		}
	}
}

// mate is the next number comparable with the k-th.
func mate(s *Sentence, k int) int {
	q := s.Tokens[s.Numbers[k]].Num
	for _, j := range s.Numbers[k+1 : min(len(s.Numbers), k+6)] {
		o := s.Tokens[j].Num
		if o.Sign != 0 && s.WordAt(j-1) == "to" {
			return -1
		}
		if s.Condition[j] || o.Times || o.Points || o.Sign != 0 || o.Percent() != q.Percent() && o.Percent() {
			continue
		}
		if q.Percent() && !o.Percent() || !q.Like(o) {
			return -1
		}
		return j
	}
	return -1
}

// explicit parses the words that join two values.
func explicit(s *Sentence, i, j int) (Pair, bool) {
	p := Pair{A: i, B: j, From: i, To: j + 1, Explicit: true}
	start := SkipBack(s, i)
	joint := SkipBack(s, j)
	word := s.WordAt(joint)
	words := between(s, i, j)
	far := len(words) > 16 || BreaksPair(s, i+1, j)
	switch {
	case HasMark(s, i+1, j, "->"):
		return p, len(words) <= 6 && !far && !HasMark(s, i+1, j, ",") && !HasMark(s, i+1, j, "=")
	case s.WordAt(start) == "from" && word == "to" && !far:
		p.From = start
		return p, true
	case word == "from" && leadsOn(s, j):
		return p, false // that value begins a pair of its own
	case word == "from" && s.WordAt(start) == "to" && !far, word == "from" && !far && (directed(s, i, j, "up") || directed(s, i, j, "down")),
		word == "from" && !far && percentBetween(s, i, j):
		p.A, p.B = j, i
		return p, true
	case word == "was" || word == "were" || word == "previously" || word == "formerly" || word == "originally":
		if HasMark(s, i+1, j, "(") || word != "was" && word != "were" {
			p.A, p.B = j, i
			return p, true
		}
	case !far && (words["than"] > 0 || words["instead"] > 0 && word == "of" || words["rather"] > 0):
		p.A, p.B = j, i
		return p, !hedgeThan(s, i, j)
	case !far && (words["vs"]+words["vs."]+words["versus"]+words["against"] > 0 || phrase(s, i, j, "compared") || phrase(s, i, j, "relative")):
		p.A, p.B, p.Either = j, i, true
		return p, true
	case !far && word == "to" && (len(words) == 2 && words["down"] == 1 || len(words) == 1 && bracketed(s, i, j)) && !s.Tokens[i].Num.Percent():
		return p, true
	case !far && timesThe(s, i, j):
		p.A, p.B = j, i
		return p, true
	case !far && len(words) == 1 && word == "to" && !s.Tokens[i].Num.Percent() && s.WordAt(start) != "between" && s.WordAt(start) != "by":
		return p, verbBefore(s, start+1) != "" || j+1 < len(s.Tokens) && s.Tokens[j+1].Mark == "(" || changeSoon(s, j)
	}
	return p, false
}

// bracketed reports whether two values stand alone in brackets: "(9,830 to 10,430 tps)".
func bracketed(s *Sentence, i, j int) bool {
	return i > 0 && s.Tokens[i-1].Mark == "(" && HasMark(s, j+1, min(len(s.Tokens), j+4), ")")
}

// timesThe reports whether the first of two values is a multiple of the second: "605 MB/s,
// 16 times the 38 MB/s".
func timesThe(s *Sentence, i, j int) bool {
	for k := i + 1; k+1 < j; k++ {
		if q := s.Tokens[k].Num; q != nil && q.Times {
			return s.WordAt(k+1) == "the" && k+2 >= SkipBack(s, j)+1
		}
	}
	return false
}

// leadsOn reports whether "to" and another value follow a value.
func leadsOn(s *Sentence, j int) bool {
	for k := j + 1; k+1 < min(len(s.Tokens), j+5); k++ {
		if s.Tokens[k].Num != nil || s.Tokens[k].Mark != "" {
			return false
		}
		if s.WordAt(k) == "to" {
			return s.Tokens[k+1].Num != nil || k+2 < len(s.Tokens) && s.Tokens[k+2].Num != nil
		}
	}
	return false
}

// changeSoon reports whether a percentage with a direction follows a value.
func changeSoon(s *Sentence, j int) bool {
	for k := j + 1; k+1 < min(len(s.Tokens), j+7); k++ {
		if q := s.Tokens[k].Num; q != nil {
			w := s.WordAt(k + 1)
			return (q.Percent() || q.Times) && (number.Ups[w] || number.Downs[w] || number.Goods[w] != 0)
		}
	}
	return false
}

// directed reports whether a value is said to be up or down from another; "up to" is a
// bound.
func directed(s *Sentence, i, j int, word string) bool {
	return s.Any(i+1, j, func(k int) bool { return s.WordAt(k) == word && s.WordAt(k+1) != "to" })
}

// phrase reports whether a word with "to" or "with" after it stands between two values.
func phrase(s *Sentence, i, j int, word string) bool {
	return s.Any(i+1, j-1, func(k int) bool { return s.WordAt(k) == word && (s.WordAt(k+1) == "to" || s.WordAt(k+1) == "with") })
}

// BreaksPair reports whether two values belong to different statements.
func BreaksPair(s *Sentence, from, to int) bool {
	return s.Any(from, to, func(k int) bool {
		w := s.Tokens[k].Word
		return number.Clauses[w] && w != "when" || s.Tokens[k].Mark == ";"
	})
}

// hedgeThan reports whether the "than" between two values is that of a bound: "more than",
// "smaller than".
func hedgeThan(s *Sentence, i, j int) bool {
	for k := i + 1; k < j; k++ {
		if s.WordAt(k) == "than" {
			before := s.WordAt(k - 1)
			return k == SkipBack(s, j) && (!percentBetween(s, i, j) || s.Tokens[k-2].Num == nil) && Comparatives[before]
		}
	}
	return false
}

func percentBetween(s *Sentence, i, j int) bool {
	return s.Any(i+1, j, func(k int) bool {
		q := s.Tokens[k].Num
		return q != nil && (q.Percent() || q.Times || q.Points)
	})
}

// between are the words between two values, without conditions and without words in brackets.
func between(s *Sentence, i, j int) map[string]int {
	words := map[string]int{}
	for k := i + 1; k < j; k++ {
		if s.Tokens[k].Mark == "(" {
			if end := closing(s, k, j); end > 0 {
				k = end
				continue
			}
		}
		if w := s.Tokens[k].Word; w != "" && !Owned(s, k, i) {
			words[w]++
		}
	}
	return words
}

// closing is where a bracket that opens at k closes before j; 0 for nowhere.
func closing(s *Sentence, k, j int) int {
	for ; k < j; k++ {
		if s.Tokens[k].Mark == ")" {
			return k
		}
	}
	return 0
}

// Owned reports whether a word is the noun that the number i counts.
func Owned(s *Sentence, k, i int) bool {
	if s.Tokens[i].Num == nil {
		return false
	}
	return k <= i+3 && slices.Contains(s.Tokens[i].Num.Nouns, number.Singular(s.Tokens[k].Text))
}

// skipped may stand before a value.
var skipped = number.Set("just only about around roughly over nearly almost approximately some a the an")

// SkipBack is the token before a value and its hedge.
func SkipBack(s *Sentence, i int) int {
	k := i - 1
	for k > 0 {
		switch w := s.WordAt(k); {
		case skipped[w]:
			k--
		case s.Tokens[k].Mark == "$" || s.Tokens[k].Mark == "\u20ac" || s.Tokens[k].Mark == "~" || s.Tokens[k].Mark == "\u2248":
			k--
		default:
			return k
		}
	}
	return k
}

// HasMark reports whether a mark stands between two tokens.
func HasMark(s *Sentence, from, to int, mark string) bool {
	return s.Any(from, to, func(k int) bool { return s.Tokens[k].Mark == mark })
}

// Frame determines the direction and the metric of a pair from its context.
func Frame(s *Sentence, p *Pair) {
	if !HasMark(s, p.From, p.To, "->") || verbBefore(s, p.From) != "" {
		p.Verb = verbBefore(s, p.From)
	}
	if p.Verb == "" && p.A > p.B {
		switch words := between(s, p.B, p.A); {
		case words["up"] > 0:
			p.Verb = "up"
		case words["down"] > 0:
			p.Verb = "down"
		}
	}
	switch {
	case number.Ups[p.Verb]:
		p.Direction = 1
	case number.Downs[p.Verb]:
		p.Direction = -1
	case number.Goods[p.Verb] != 0:
		p.Good = number.Goods[p.Verb]
	}
	inherit(s, p)
	p.Metric = metricOf(s, p)
	if p.Metric == number.MetricLatency && often(s, p) {
		p.Direction, p.Good = 0, 0
	}
}

// inherit gives a value the unit that is printed once for both.
func inherit(s *Sentence, p *Pair) {
	ShareUnit(s.Tokens[p.A].Num, s.Tokens[p.B].Num)
	la, lb := s.Load[p.A], s.Load[p.B]
	if la > 0 && lb > 0 {
		ShareUnit(s.Tokens[la].Num, s.Tokens[lb].Num)
	}
}

// ShareUnit gives the unit of one value to the other where that has none.
func ShareUnit(a, b *number.Quantity) {
	switch {
	case a.Unit.Dim == "" && b.Unit.Dim != "":
		a.Unit, a.Nouns = b.Unit, b.Nouns
	case b.Unit.Dim == "" && a.Unit.Dim != "":
		b.Unit, b.Nouns = a.Unit, a.Nouns
	}
}

var (
	Earlier = number.Set("before baseline default without off originally old native stock original previously vanilla control reference initially disabled bare-metal physical") // are words for the value before a change
	later   = number.Set("after with now tuned on virtual virtualized virtualised new optimized optimised patched enabled later improved then dense")
)

// Ordered reports whether the words beside two values name the first as the one before.
func Ordered(s *Sentence, i, j int) bool {
	beside := func(at, from, to int, words map[string]bool) bool {
		return s.Any(max(from, at-5), min(to, at+4)+1, func(k int) bool { return words[s.WordAt(k)] })
	}
	comma := j
	for k := i + 1; k < j; k++ {
		if s.Tokens[k].Mark == "," || number.Clauses[s.WordAt(k)] {
			comma = k
		}
	}
	if comma < j && beside(i, 0, comma, Earlier) && beside(j, comma, len(s.Tokens), later) {
		return true
	}
	return beside(i, 0, j, Earlier) && beside(j, i, len(s.Tokens), later) && !beside(j, i, len(s.Tokens), Earlier)
}
