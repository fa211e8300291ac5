package grammar

import (
	"slices"
	"strings"

	"plimsoll/internal/claim/number"
)

// Hedges, by meaning.
const (
	HedgeOver    = "over"
	HedgeAtLeast = "at least"
	HedgeNearly  = "nearly"
	HedgeAbout   = "about"
	HedgeUpTo    = "up to"
	HedgeUnder   = "under"
)

// hedgeForms are hedges as sequences of words, longest first.
var hedgeForms = func() (all []hedgeForm) {
	for _, f := range []struct{ hedge, phrases string }{
		{HedgeUpTo, "no more than, not more than, a maximum of, as much as, as high as"},
		{HedgeOver, "in excess of"},
		{HedgeNearly, "just under, just below"},
		{HedgeOver, "just over, well over, slightly over, more than, greater than, better than, upwards of, upward of, north of"},
		{HedgeUnder, "less than, fewer than"},
		{HedgeAtLeast, "at least"},
		{HedgeUpTo, "at most, up to"},
		{HedgeAbout, "close to, or so"},
		{HedgeOver, "over, above, exceeding, exceeds"},
		{HedgeUnder, "below, under"},
		{HedgeNearly, "nearly, almost"},
		{HedgeAbout, "about, around, roughly, some, approximately, approx, approx., circa, ca, ca."},
	} {
		for phrase := range strings.SplitSeq(f.phrases, ", ") {
			all = append(all, hedgeForm{strings.Fields(phrase), f.hedge})
		}
	}
	return all
}()

type hedgeForm struct {
	words []string
	hedge string
}

// HedgeMarks are signs that hedge a number.
var HedgeMarks = map[string]string{"~": HedgeAbout, "\u2248": HedgeAbout, ">": HedgeOver, "\u2265": HedgeAtLeast, "<": HedgeUnder, "\u2264": HedgeUpTo}

// hedgeBefore is where the hedge before a token begins, or the token if there is none.
func hedgeBefore(s *Sentence, i int) int {
	one := Saying{From: i, To: i + 1}
	Hedge(s, &one)
	return one.From
}

// Hedge reads the hedge before or behind a saying.
func Hedge(s *Sentence, one *Saying) {
	if one.From > 0 {
		if h := HedgeMarks[s.Tokens[one.From-1].Mark]; h != "" {
			one.Hedge, one.HedgeText = h, s.Tokens[one.From-1].Mark
			one.From--
			return
		}
	}
	at := one.From
	if w := s.WordAt(at - 1); w == "a" || w == "an" {
		at--
	}
	for _, f := range hedgeForms {
		n := len(f.words)
		if at >= n && slices.EqualFunc(s.Tokens[at-n:at], f.words, func(t number.Token, word string) bool { return t.Word == word }) {
			one.Hedge, one.HedgeText = f.hedge, strings.Join(f.words, " ")
			one.From = at - n
			return
		}
	}
	if s.WordAt(one.To) == "or" && (s.WordAt(one.To+1) == "more" || s.WordAt(one.To+1) == "better") {
		one.Hedge, one.HedgeText = HedgeAtLeast, "at least"
		one.To += 2
	}
	if one.To < len(s.Tokens) && s.Tokens[one.To].Mark == "+" {
		one.Hedge, one.HedgeText = HedgeAtLeast, "at least"
		one.To++
	}
}
