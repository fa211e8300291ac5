// Package grammar parses a sentence: names, pairs of values, and stated changes.
package grammar

import (
	"strings"

	"plimsoll/internal/claim/document"
	"plimsoll/internal/claim/number"
	"plimsoll/internal/pattern"
)

// Sentence is a parsed sentence.
type Sentence struct {
	Text      string
	Tokens    []number.Token
	Numbers   []int // tokens that are numbers
	Condition map[int]bool
	Load      map[int]int // a value's condition
	Level     map[int]bool
	Used      map[int]bool
	Pairs     []Pair
	Sayings   []Saying
	Before    *Sentence // the sentence before it in the paragraph that has numbers
	Near      string    // the sentences around it, in lower case
	Long      bool
	Lists     bool // "respectively": values and changes stand in lists

	Candidates []Pair // loose pairs, computed once
	Searched   bool
}

// ReadSentence parses a sentence of a paragraph, with the sentences around it.
func ReadSentence(l number.Locale, b *document.Block, at int, before *Sentence) *Sentence {
	s := Parse(l, b.Sentences[at].Text)
	s.Before = before
	for i := max(0, at-2); i < min(len(b.Sentences), at+3); i++ {
		s.Near += strings.ToLower(b.Sentences[i].Text) + " "
	}
	return s
}

// mostNumbers bounds the numbers of a sentence that are compared.
const mostNumbers = 80

// Parse reads a sentence.
func Parse(l number.Locale, text string) *Sentence {
	s := &Sentence{Text: text, Condition: map[int]bool{}, Load: map[int]int{}, Level: map[int]bool{}, Used: map[int]bool{}}
	s.Tokens = l.Lex(text)
	for i := range s.Tokens {
		if s.Tokens[i].Num != nil {
			s.Numbers = append(s.Numbers, i)
		}
	}
	s.Long = len(s.Tokens) >= number.MostTokens || len(s.Numbers) > mostNumbers
	if s.Long {
		return s
	}
	for i := range s.Tokens {
		s.Lists = s.Lists || s.Tokens[i].Word == "respectively" || s.Tokens[i].Word == "resp."
	}
	findNames(s)
	findConditions(s)
	findPairs(s)
	FindSayings(s)
	s.Near = strings.ToLower(text)
	return s
}

// WordAt is the word at a place, in lower case; empty if there is none.
func (s *Sentence) WordAt(i int) string {
	if i < 0 || i >= len(s.Tokens) {
		return ""
	}
	return s.Tokens[i].Word
}

// Any reports whether a token in the range satisfies a condition.
func (s *Sentence) Any(from, to int, is func(k int) bool) bool {
	for k := max(0, from); k < min(len(s.Tokens), to); k++ {
		if is(k) {
			return true
		}
	}
	return false
}

// TextOf is the text from one token to another.
func (s *Sentence) TextOf(from, to int) string {
	if from >= to || from < 0 || to > len(s.Tokens) {
		return ""
	}
	return s.Text[s.Tokens[from].From:s.Tokens[to-1].To]
}

// WordMatches reports whether the word at a place has a form.
func (s *Sentence) WordMatches(i int, form pattern.Pattern) bool {
	w := s.WordAt(i)
	return w != "" && form().MatchString(w)
}

// Stated reports whether a saying of the sentence says that something changed.
func (s *Sentence) Stated() bool {
	for i := range s.Sayings {
		if one := &s.Sayings[i]; !s.Used[one.From] && one.Claims() {
			return true
		}
	}
	return false
}

// Claims reports whether the words alone make it a change.
func (one *Saying) Claims() bool {
	return one.Direction != 0 || one.Good != 0 || one.Sign != 0 || one.Rounded && !one.Of
}
