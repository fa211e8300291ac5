package grammar

import (
	"math"
	"strings"

	"plimsoll/internal/claim/number"
	"plimsoll/internal/pattern"
)

type sayingKind int

const (
	InPercent    sayingKind = iota // is a change in percent
	InPoints                       // is a change in percentage points
	AsFactor                       // is a ratio
	AsDifference                   // is a difference in the unit of the values
)

// Saying is a change as stated in a text: "over 10 % more", "3x faster", "+40 ms".
type Saying struct {
	Kind      sayingKind
	From, To  int     // tokens
	Low, High float64 // equal unless it is a range
	Half      float64
	Decimals  int
	Hedge     string
	HedgeText string
	Direction int // +1, -1, 0 unknown
	Good      int // +1 better, -1 worse
	Speed     bool
	Sign      int
	Of        bool // a ratio: "90 % of", "to 90 %"
	Further   bool
	Rounded   bool // a word: doubled, by a third
	PlusOne   bool // "3 times more" may be 3 or 4 times as much
	Metric    string
	Num       *number.Quantity
}

// Exactly is the saying of one number, the token at.
func Exactly(kind sayingKind, q *number.Quantity, at int) Saying {
	return Saying{Kind: kind, Low: q.Value, High: q.Value, Half: q.Half, Decimals: q.Decimals, Num: q, From: at, To: at + 1}
}

// NotChanges follow a percentage that is a level, a share or a confidence.
var NotChanges = pattern.Of(`^(?i:confidence|ci|interval|percentile|quantile|level|reads?|writes?|random|sequential|full|idle|busy|hits?|power|significance|availability|cpu|load|utili[sz]ation|correct|accuracy|packet|off|steal)$`)

// occasions follow a number of events: "20 times out of 1,000".
var occasions = number.Set("out per a an in during each every")

// ratioWords make a change out of words.
var ratioWords = map[string]float64{
	"doubled": 2, "doubles": 2, "doubling": 2, "double": 2, "twice": 2, "twofold": 2, "tripled": 3, "triples": 3, "tripling": 3, "triple": 3, "threefold": 3, "thrice": 3,
	"quadrupled": 4, "quadruples": 4, "quadruple": 4, "fourfold": 4, "fivefold": 5, "sixfold": 6, "tenfold": 10,
	"halved": 0.5, "halves": 0.5, "halving": 0.5,
}

var fractions = map[string]float64{"half": 50, "third": 100. / 3, "quarter": 25, "fifth": 20, "tenth": 10}

// FindSayings finds the changes stated in a sentence. Numbers of explicit pairs are levels,
// not changes.
func FindSayings(s *Sentence) {
	for i := 0; i < len(s.Tokens); i++ {
		one, ok := sayingAt(s, i)
		if !ok {
			continue
		}
		qualify(s, &one)
		if one.Kind == AsDifference && !isDifference(s, &one) {
			continue
		}
		i = one.To - 1
		s.Sayings = append(s.Sayings, one)
	}
}

// orders reads "two orders of magnitude" and "an order of magnitude".
func orders(s *Sentence, i int) float64 {
	if w := s.WordAt(i + 1); w != "orders" && w != "order" || s.WordAt(i+2) != "of" || s.WordAt(i+3) != "magnitude" {
		return 0
	}
	if w := s.WordAt(i); w == "an" || w == "one" {
		return 1
	}
	return number.Numerals[s.WordAt(i)]
}

// Comparatives are words that compare.
var Comparatives = number.Set("more less fewer higher lower faster slower longer shorter larger smaller")

// isDifference reports whether a plain number is a change: it has a sign, "by" before it, or a
// comparative after it and its noun.
func isDifference(s *Sentence, one *Saying) bool {
	if one.To < len(s.Tokens) && s.Tokens[one.To].Mark == "->" {
		return false
	}
	if one.Sign != 0 || s.WordAt(one.From-1) == "by" {
		return one.Direction != 0 || one.Sign != 0
	}
	at := one.To
	for at < len(s.Tokens) && s.Tokens[at].Word != "" && Owned(s, at, one.To-1) {
		at++
	}
	return Comparatives[s.WordAt(at)] && one.Direction != 0
}

// sayingAt parses a change whose number is the token i.
func sayingAt(s *Sentence, i int) (Saying, bool) {
	t := &s.Tokens[i]
	if t.Num == nil {
		return wordSaying(s, i)
	}
	if s.Level[i] || s.Condition[i] {
		return Saying{}, false
	}
	one := Saying{From: i, To: i + 1, Low: t.Num.Value, High: t.Num.Value, Half: t.Num.Half, Decimals: t.Num.Decimals, Sign: t.Num.Sign, Num: t.Num}
	if end, ok := rangeAt(s, i); ok {
		q := s.Tokens[end].Num
		one.High, one.To, one.Num = q.Value, end+1, q
		one.Half, one.Decimals = max(one.Half, q.Half), max(one.Decimals, q.Decimals)
		if one.Sign == 0 {
			one.Sign = q.Sign
		}
		if t.Num.Sign*q.Sign < 0 {
			return Saying{}, false
		}
		one.Low, one.High = min(one.Low, one.High), max(one.Low, one.High)
		t = &s.Tokens[end]
	}
	if i > 0 && (s.Tokens[i-1].Mark == "\u00b1" || s.Tokens[i-1].Mark == "$" || s.Tokens[i-1].Mark == "\u20ac") {
		return Saying{}, false
	}
	switch {
	case t.Num.Points:
		one.Kind = InPoints
	case t.Num.Percent():
		if s.WordMatches(one.To, NotChanges) {
			return Saying{}, false
		}
	case t.Num.Times:
		if occasions[s.WordAt(one.To)] && strings.HasSuffix(t.Num.Printed, "times") {
			return Saying{}, false
		}
		one.Kind = AsFactor
		if n := s.WordAt(one.To); n == "as" || s.WordAt(one.To) == "the" {
			one.Of = true
		}
	case factorOf(s, i) && t.Num.Sign == 0 && (t.Num.Unit.Dim == "" || t.Num.Unit.Dim == number.DimCount):
		one.Kind = AsFactor
	default:
		one.Kind = AsDifference
		if one.High != one.Low || t.Num.Unit.Dim == "" && one.Sign == 0 {
			return Saying{}, false
		}
	}
	return one, true
}

// rangeAt reads "10-20 %", "25 to 30 %" and "between 10 and 20 %".
func rangeAt(s *Sentence, i int) (end int, ok bool) {
	if i+2 >= len(s.Tokens) || s.Tokens[i+2].Num == nil {
		return 0, false
	}
	first, last := s.Tokens[i].Num, s.Tokens[i+2].Num
	between := s.WordAt(i-1) == "between"
	joint := s.Tokens[i+1].Mark == "-" || s.Tokens[i+1].Word == "to" || between && s.Tokens[i+1].Word == "and"
	if !joint || first.Times && !last.Times || s.Level[i+2] || s.Condition[i+2] {
		return 0, false
	}
	if first.Unit.Dim != "" && !first.Percent() || !last.Percent() && !last.Times && !last.Points {
		return 0, false
	}
	return i + 2, true
}

// wordSaying parses a change without digits: doubled, by a third, three times.
func wordSaying(s *Sentence, i int) (Saying, bool) {
	w := s.Tokens[i].Word
	one := Saying{Kind: AsFactor, From: i, To: i + 1, Rounded: true}
	if n := orders(s, i); n > 0 {
		// The rounding interval of an order of magnitude is half an order.
		v := math.Pow(10, n)
		one.Low, one.High, one.To, one.Rounded = v, v, i+4, false
		Hedge(s, &one)
		if one.Hedge == "" || one.Hedge == HedgeAbout {
			one.Low, one.High, one.Hedge = v/math.Sqrt(10), v*math.Sqrt(10), ""
		}
		return one, true
	}
	if v, ok := ratioWords[w]; ok {
		one.Low, one.Direction = v, 1
		one.Of = w == "twice" || w == "thrice" || w == "double" || w == "triple"
		if v < 1 {
			one.Low, one.Direction = 2, -1
		}
		one.High = one.Low
		return one, true
	}
	if v, ok := number.Numerals[w]; ok && (s.WordAt(i+1) == "times" || s.WordAt(i+1) == "fold") {
		one.Low, one.High, one.Half, one.To, one.Rounded = v, v, 0.5, i+2, false
		one.Of = s.WordAt(i+2) == "as" || s.WordAt(i+2) == "the"
		return one, true
	}
	part := fractions[strings.TrimSuffix(w, "s")]
	if part == 0 {
		return Saying{}, false
	}
	before := s.WordAt(i - 1)
	if hedgeMark := hedgeBefore(s, i); w == "half" && hedgeMark < i && s.WordAt(hedgeMark-1) == "by" {
		before = "by"
	}
	switch {
	case before == "two" && w == "thirds":
		part, one.From = 200./3, i-1
	case before == "three" && w == "quarters":
		part, one.From = 75, i-1
	case w == "half" && hedgeBefore(s, i) < i && (i+1 == len(s.Tokens) || s.Tokens[i+1].Mark == "." || s.Tokens[i+1].Mark == ")"):
	case w == "half" && (s.WordAt(i+1) == "the" || s.WordAt(i+1) == "as" || s.WordAt(i+1) == "of"):
		one.Of = true
	case w == "half" && (before == "by" || before == "in"), (before == "a" || before == "one") && w != "half":
		if w != "half" {
			one.From = i - 1
		}
	default:
		return Saying{}, false
	}
	one.Kind, one.Low, one.High, one.Decimals = InPercent, part, part, 1
	return one, true
}

// qualify parses the words around a change: hedge, direction, base.
func qualify(s *Sentence, one *Saying) {
	Hedge(s, one)
	if s.WordAt(one.To) == "of" && one.Kind != AsDifference || s.WordAt(one.From-1) == "to" && one.Kind == InPercent && one.Sign == 0 {
		one.Of = true
	}
	for k := one.From - 1; k >= max(0, one.From-3); k-- {
		if w := s.WordAt(k); w == "further" || w == "another" || w == "additional" {
			one.Further = true
		}
	}
	one.Metric = metricAround(s, one)
	if s.WordAt(one.To) == "as" && one.asMuch(s.WordAt(one.To+1)) {
		return
	}
	before, after := changeWord(s, one, -1), changeWord(s, one, 1)
	word := after
	if prior := s.WordAt(one.From - 1); before != "" && (after == "" || prior == "by" || prior == "of") {
		word = before
	}
	if w := s.WordAt(one.From - 1); one.Of && one.Kind == InPercent && s.WordAt(one.To) == "of" && (number.Downs[w] || number.Ups[w]) && w != "up" && w != "down" && w != "more" && w != "less" {
		one.Of = false // "saved 60 % of the space"
		word = w
	}
	if one.Of && after == "" && s.WordAt(one.From-1) != "by" && s.WordAt(one.From-1) != "of" {
		return
	}
	switch {
	case number.Ups[word]:
		one.Direction = 1
	case number.Downs[word]:
		one.Direction = -1
	case number.Goods[word] != 0:
		one.Good, one.Speed = number.Goods[word], number.Speeds[word]
	}
	if one.Kind == AsFactor && (word == "more" || word == "faster" || word == "higher" || number.Ups[word] || number.Goods[word] != 0) {
		one.PlusOne = true
	}
	if one.Rounded && one.Kind == AsFactor && one.Direction == 0 {
		one.Direction = 1
	}
}

// asMuch parses the adjective of "twice as fast"; false if it is none.
func (one *Saying) asMuch(adjective string) bool {
	one.Direction, one.Good, one.Speed = 0, 0, false
	switch adjective {
	case "fast", "quick", "quickly":
		one.Good, one.Speed = 1, true
	case "slow", "slowly":
		one.Good, one.Speed = -1, true
	case "good", "well":
		one.Good = 1
	case "long", "high", "much", "many", "large", "big":
		one.Direction = 1
	case "low", "short", "small", "little", "few":
		one.Direction = -1
	default:
		return false
	}
	one.Of = one.Kind == InPercent
	return true
}

// factorOf reports whether a number is a factor: "by a factor of more than 12".
func factorOf(s *Sentence, i int) bool {
	k := hedgeBefore(s, i)
	return s.WordAt(k-1) == "of" && s.WordAt(k-2) == "factor"
}

// changeWord finds the nearest word of direction before or after a change, within
// the same phrase.
func changeWord(s *Sentence, one *Saying, step int) string {
	at, most := one.To, 4
	if step < 0 {
		at, most = one.From-1, 6
	}
	for k := 0; k < most; k++ {
		if at < 0 || at >= len(s.Tokens) {
			return ""
		}
		t := &s.Tokens[at]
		if t.Word == "" || number.Clauses[t.Word] || step > 0 && (t.Word == "from" || t.Word == "to" || t.Word == "at") {
			return ""
		}
		if number.Ups[t.Word] || number.Downs[t.Word] || number.Goods[t.Word] != 0 {
			return t.Word
		}
		at += step
	}
	return ""
}
