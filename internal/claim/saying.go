package claim

import (
	"math"
	"regexp"
	"strings"
)

type sayingKind int

const (
	inPercent sayingKind = iota
	inPoints
	asFactor
	asDifference
)

// Hedges, by what they admit.
const (
	hedgeOver    = "over"
	hedgeAtLeast = "at least"
	hedgeNearly  = "nearly"
	hedgeAbout   = "about"
	hedgeUpTo    = "up to"
	hedgeUnder   = "under"
)

// saying is a change as a text states it: "over 10 % more", "3x faster", "+40 ms".
type saying struct {
	kind      sayingKind
	from, to  int     // tokens
	low, high float64 // equal unless it is a range
	half      float64
	decimals  int
	hedge     string
	hedgeText string
	direction int // +1, -1, 0 unknown
	good      int // +1 better, -1 worse
	speed     bool
	sign      int
	of        bool // a ratio: "90 % of", "to 90 %"
	further   bool
	rounded   bool // a word: doubled, by a third
	plusOne   bool // "3 times more" may be 3 or 4 times as much
	metric    string
	num       *quantity
}

// hedgeForms are hedges as sequences of words, longest first.
var hedgeForms = []struct {
	words []string
	hedge string
}{
	{[]string{"no", "more", "than"}, hedgeUpTo}, {[]string{"not", "more", "than"}, hedgeUpTo}, {[]string{"a", "maximum", "of"}, hedgeUpTo},
	{[]string{"as", "much", "as"}, hedgeUpTo}, {[]string{"as", "high", "as"}, hedgeUpTo}, {[]string{"in", "excess", "of"}, hedgeOver},
	{[]string{"just", "under"}, hedgeNearly}, {[]string{"just", "below"}, hedgeNearly}, {[]string{"just", "over"}, hedgeOver}, {[]string{"well", "over"}, hedgeOver}, {[]string{"slightly", "over"}, hedgeOver},
	{[]string{"more", "than"}, hedgeOver}, {[]string{"greater", "than"}, hedgeOver}, {[]string{"better", "than"}, hedgeOver}, {[]string{"upwards", "of"}, hedgeOver}, {[]string{"upward", "of"}, hedgeOver}, {[]string{"north", "of"}, hedgeOver},
	{[]string{"less", "than"}, hedgeUnder}, {[]string{"fewer", "than"}, hedgeUnder}, {[]string{"at", "least"}, hedgeAtLeast}, {[]string{"at", "most"}, hedgeUpTo}, {[]string{"up", "to"}, hedgeUpTo},
	{[]string{"close", "to"}, hedgeAbout}, {[]string{"or", "so"}, hedgeAbout},
	{[]string{"over"}, hedgeOver}, {[]string{"above"}, hedgeOver}, {[]string{"exceeding"}, hedgeOver}, {[]string{"exceeds"}, hedgeOver}, {[]string{"below"}, hedgeUnder}, {[]string{"under"}, hedgeUnder},
	{[]string{"nearly"}, hedgeNearly}, {[]string{"almost"}, hedgeNearly}, {[]string{"about"}, hedgeAbout}, {[]string{"around"}, hedgeAbout}, {[]string{"roughly"}, hedgeAbout}, {[]string{"some"}, hedgeAbout},
	{[]string{"approximately"}, hedgeAbout}, {[]string{"approx"}, hedgeAbout}, {[]string{"approx."}, hedgeAbout}, {[]string{"circa"}, hedgeAbout}, {[]string{"ca"}, hedgeAbout}, {[]string{"ca."}, hedgeAbout},
}

var hedgeMarks = map[string]string{"~": hedgeAbout, "\u2248": hedgeAbout, ">": hedgeOver, "\u2265": hedgeAtLeast, "<": hedgeUnder, "\u2264": hedgeUpTo}

// notChanges follow a percentage that is a level, a share or a confidence.
var notChanges = regexp.MustCompile(`^(?i:confidence|ci|interval|percentile|quantile|level|reads?|writes?|random|sequential|full|idle|busy|hits?|power|significance|availability|cpu|load|utili[sz]ation|correct|accuracy|packet|off|steal)$`)

// occasions follow a number of events: "20 times out of 1,000".
var occasions = set("out per a an in during each every")

// ratioWords make a change out of words.
var ratioWords = map[string]float64{
	"doubled": 2, "doubles": 2, "doubling": 2, "double": 2, "twice": 2, "twofold": 2, "tripled": 3, "triples": 3, "tripling": 3, "triple": 3, "threefold": 3, "thrice": 3,
	"quadrupled": 4, "quadruples": 4, "quadruple": 4, "fourfold": 4, "fivefold": 5, "sixfold": 6, "tenfold": 10,
	"halved": 0.5, "halves": 0.5, "halving": 0.5,
}

var fractions = map[string]float64{"half": 50, "third": 100. / 3, "quarter": 25, "fifth": 20, "tenth": 10}

// sayings finds the changes that a sentence states. Numbers of explicit pairs are
// levels and no changes.
func (s *sentence) findSayings() {
	for i := 0; i < len(s.tokens); i++ {
		one, ok := s.sayingAt(i)
		if !ok {
			continue
		}
		s.qualify(&one)
		if one.kind == asDifference && !s.isDifference(&one) {
			continue
		}
		i = one.to - 1
		s.sayings = append(s.sayings, one)
	}
}

// orders reads "two orders of magnitude" and "an order of magnitude".
func (s *sentence) orders(i int) float64 {
	if w := s.wordAt(i + 1); w != "orders" && w != "order" || s.wordAt(i+2) != "of" || s.wordAt(i+3) != "magnitude" {
		return 0
	}
	if w := s.wordAt(i); w == "an" || w == "one" {
		return 1
	}
	return numerals[s.wordAt(i)]
}

var comparatives = set("more less fewer higher lower faster slower longer shorter larger smaller")

// isDifference tells whether a plain number is a change: it has a sign, or "by" before
// it, or a comparative after it and its noun.
func (s *sentence) isDifference(one *saying) bool {
	if one.to < len(s.tokens) && s.tokens[one.to].mark == "->" {
		return false
	}
	if one.sign != 0 || s.wordAt(one.from-1) == "by" {
		return one.direction != 0 || one.sign != 0
	}
	at := one.to
	for at < len(s.tokens) && s.tokens[at].word != "" && s.owned(at, one.to-1) {
		at++
	}
	return comparatives[s.wordAt(at)] && one.direction != 0
}

// sayingAt reads a change whose number is the token i.
func (s *sentence) sayingAt(i int) (saying, bool) {
	t := &s.tokens[i]
	if t.num == nil {
		return s.wordSaying(i)
	}
	if s.level[i] || s.condition[i] {
		return saying{}, false
	}
	one := saying{from: i, to: i + 1, low: t.num.value, high: t.num.value, half: t.num.half, decimals: t.num.decimals, sign: t.num.sign, num: t.num}
	if end, ok := s.rangeAt(i); ok {
		q := s.tokens[end].num
		one.high, one.to, one.num = q.value, end+1, q
		one.half, one.decimals = max(one.half, q.half), max(one.decimals, q.decimals)
		if one.sign == 0 {
			one.sign = q.sign
		}
		if t.num.sign*q.sign < 0 {
			return saying{}, false
		}
		one.low, one.high = min(one.low, one.high), max(one.low, one.high)
		t = &s.tokens[end]
	}
	if i > 0 && (s.tokens[i-1].mark == "\u00b1" || s.tokens[i-1].mark == "$" || s.tokens[i-1].mark == "\u20ac") {
		return saying{}, false
	}
	switch {
	case t.num.points:
		one.kind = inPoints
	case t.num.percent():
		if s.wordMatches(one.to, notChanges) {
			return saying{}, false
		}
	case t.num.times:
		if occasions[s.wordAt(one.to)] && strings.HasSuffix(t.num.printed, "times") {
			return saying{}, false
		}
		one.kind = asFactor
		if n := s.wordAt(one.to); n == "as" || s.wordAt(one.to) == "the" {
			one.of = true
		}
	case s.factorOf(i) && t.num.sign == 0 && (t.num.unit.dim == "" || t.num.unit.dim == dimCount):
		one.kind = asFactor
	default:
		one.kind = asDifference
		if one.high != one.low || t.num.unit.dim == "" && one.sign == 0 {
			return saying{}, false
		}
	}
	return one, true
}

// rangeAt reads "10-20 %", "25 to 30 %" and "between 10 and 20 %".
func (s *sentence) rangeAt(i int) (end int, ok bool) {
	if i+2 >= len(s.tokens) || s.tokens[i+2].num == nil {
		return 0, false
	}
	first, last := s.tokens[i].num, s.tokens[i+2].num
	between := s.wordAt(i-1) == "between"
	joint := s.tokens[i+1].mark == "-" || s.tokens[i+1].word == "to" || between && s.tokens[i+1].word == "and"
	if !joint || first.times && !last.times || s.level[i+2] || s.condition[i+2] {
		return 0, false
	}
	if first.unit.dim != "" && !first.percent() || !last.percent() && !last.times && !last.points {
		return 0, false
	}
	return i + 2, true
}

// wordSaying reads a change without digits: doubled, by a third, three times.
func (s *sentence) wordSaying(i int) (saying, bool) {
	w := s.tokens[i].word
	one := saying{kind: asFactor, from: i, to: i + 1, rounded: true}
	if n := s.orders(i); n > 0 {
		// Any number is within half an order of an order of magnitude.
		v := math.Pow(10, n)
		one.low, one.high, one.to, one.rounded = v, v, i+4, false
		s.hedge(&one)
		if one.hedge == "" || one.hedge == hedgeAbout {
			one.low, one.high, one.hedge = v/math.Sqrt(10), v*math.Sqrt(10), ""
		}
		return one, true
	}
	if v, ok := ratioWords[w]; ok {
		one.low, one.direction = v, 1
		one.of = w == "twice" || w == "thrice" || w == "double" || w == "triple"
		if v < 1 {
			one.low, one.direction = 2, -1
		}
		one.high = one.low
		return one, true
	}
	if v, ok := numerals[w]; ok && (s.wordAt(i+1) == "times" || s.wordAt(i+1) == "fold") {
		one.low, one.high, one.half, one.to, one.rounded = v, v, 0.5, i+2, false
		one.of = s.wordAt(i+2) == "as" || s.wordAt(i+2) == "the"
		return one, true
	}
	part := fractions[strings.TrimSuffix(w, "s")]
	if part == 0 {
		return saying{}, false
	}
	before := s.wordAt(i - 1)
	if hedgeMark := s.hedgeBefore(i); w == "half" && hedgeMark < i && s.wordAt(hedgeMark-1) == "by" {
		before = "by"
	}
	switch {
	case before == "two" && w == "thirds":
		part, one.from = 200./3, i-1
	case before == "three" && w == "quarters":
		part, one.from = 75, i-1
	case w == "half" && s.hedgeBefore(i) < i && (i+1 == len(s.tokens) || s.tokens[i+1].mark == "." || s.tokens[i+1].mark == ")"):
	case w == "half" && (s.wordAt(i+1) == "the" || s.wordAt(i+1) == "as" || s.wordAt(i+1) == "of"):
		one.of = true
	case w == "half" && (before == "by" || before == "in"), (before == "a" || before == "one") && w != "half":
		if w != "half" {
			one.from = i - 1
		}
	default:
		return saying{}, false
	}
	one.kind, one.low, one.high, one.decimals = inPercent, part, part, 1
	return one, true
}

// qualify reads the words about a change: hedge, direction, what it is of.
func (s *sentence) qualify(one *saying) {
	s.hedge(one)
	if s.wordAt(one.to) == "of" && one.kind != asDifference || s.wordAt(one.from-1) == "to" && one.kind == inPercent && one.sign == 0 {
		one.of = true
	}
	for k := one.from - 1; k >= max(0, one.from-3); k-- {
		if w := s.wordAt(k); w == "further" || w == "another" || w == "additional" {
			one.further = true
		}
	}
	one.metric = s.metricAround(one)
	if s.wordAt(one.to) == "as" && one.asMuch(s.wordAt(one.to+1)) {
		return
	}
	before, after := s.changeWord(one, -1), s.changeWord(one, 1)
	word := after
	if prior := s.wordAt(one.from - 1); before != "" && (after == "" || prior == "by" || prior == "of") {
		word = before
	}
	if w := s.wordAt(one.from - 1); one.of && one.kind == inPercent && s.wordAt(one.to) == "of" && (downs[w] || ups[w]) && w != "up" && w != "down" && w != "more" && w != "less" {
		one.of = false // "saved 60 % of the space"
		word = w
	}
	if one.of && after == "" && s.wordAt(one.from-1) != "by" && s.wordAt(one.from-1) != "of" {
		return
	}
	switch {
	case ups[word]:
		one.direction = 1
	case downs[word]:
		one.direction = -1
	case goods[word] != 0:
		one.good, one.speed = goods[word], speeds[word]
	}
	if one.kind == asFactor && (word == "more" || word == "faster" || word == "higher" || ups[word] || goods[word] != 0) {
		one.plusOne = true
	}
	if one.rounded && one.kind == asFactor && one.direction == 0 {
		one.direction = 1
	}
}

// asMuch reads the adjective of "twice as fast"; false where it is none.
func (one *saying) asMuch(adjective string) bool {
	one.direction, one.good, one.speed = 0, 0, false
	switch adjective {
	case "fast", "quick", "quickly":
		one.good, one.speed = 1, true
	case "slow", "slowly":
		one.good, one.speed = -1, true
	case "good", "well":
		one.good = 1
	case "long", "high", "much", "many", "large", "big":
		one.direction = 1
	case "low", "short", "small", "little", "few":
		one.direction = -1
	default:
		return false
	}
	one.of = one.kind == inPercent
	return true
}

// factorOf tells whether a number is a factor: "by a factor of more than 12".
func (s *sentence) factorOf(i int) bool {
	k := s.hedgeBefore(i)
	return s.wordAt(k-1) == "of" && s.wordAt(k-2) == "factor"
}

// hedgeBefore is where the hedge before a token begins, or the token where there is none.
func (s *sentence) hedgeBefore(i int) int {
	one := saying{from: i, to: i + 1}
	s.hedge(&one)
	return one.from
}

func (s *sentence) hedge(one *saying) {
	if one.from > 0 {
		if h := hedgeMarks[s.tokens[one.from-1].mark]; h != "" {
			one.hedge, one.hedgeText = h, s.tokens[one.from-1].mark
			one.from--
			return
		}
	}
	at := one.from
	if w := s.wordAt(at - 1); w == "a" || w == "an" {
		at--
	}
	for _, f := range hedgeForms {
		n := len(f.words)
		match := at >= n
		for k := 0; match && k < n; k++ {
			match = s.tokens[at-n+k].word == f.words[k]
		}
		if match {
			one.hedge, one.hedgeText = f.hedge, strings.Join(f.words, " ")
			one.from = at - n
			return
		}
	}
	if s.wordAt(one.to) == "or" && (s.wordAt(one.to+1) == "more" || s.wordAt(one.to+1) == "better") {
		one.hedge, one.hedgeText = hedgeAtLeast, "at least"
		one.to += 2
	}
	if one.to < len(s.tokens) && s.tokens[one.to].mark == "+" {
		one.hedge, one.hedgeText = hedgeAtLeast, "at least"
		one.to++
	}
}

// changeWord finds the nearest word of direction before or after a change, within
// the same phrase.
func (s *sentence) changeWord(one *saying, step int) string {
	at, most := one.to, 4
	if step < 0 {
		at, most = one.from-1, 6
	}
	for k := 0; k < most; k++ {
		if at < 0 || at >= len(s.tokens) {
			return ""
		}
		t := &s.tokens[at]
		if t.word == "" || clauses[t.word] || step > 0 && (t.word == "from" || t.word == "to" || t.word == "at") {
			return ""
		}
		if ups[t.word] || downs[t.word] || goods[t.word] != 0 {
			return t.word
		}
		at += step
	}
	return ""
}
