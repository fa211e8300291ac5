// Package number parses words, numbers and units, each number as the interval of half a unit
// of its last digit.
package number

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"plimsoll/internal/pattern"
)

// Token is a word, a number or a mark of a sentence.
type Token struct {
	Text string // as printed
	Word string // in lower case; empty for numbers and marks
	Mark string // a punctuation mark; an arrow is "->", a dash between numbers "-"
	Num  *Quantity
	From int // byte offsets in the sentence
	To   int
}

// MostTokens bounds a sentence.
const MostTokens = 600

var (
	arrows      = pattern.Of(`^(?:-{1,3}>|={1,2}>|\x{2192}|\x{21d2}|\x{27f6}|\x{27a1})`)
	percentForm = pattern.Of(`^[ \x{a0}\x{202f}\x{2009}]?(?:%|(?i:percentage|percent|per cent|pct)\b)(?:[ -]?(?i:points?|pts?)\b)?`)
	pointForm   = pattern.Of(`^ ?(?:points?|pp|p\.p\.|pts|ppt)(?:\b|$)`)
	timesForm   = pattern.Of(`^ ?(?:x|X|\x{d7})(?:\b|$)|^[ -]?(?:times|fold)\b`)
	identForm   = pattern.Of(`^(?:[.:][0-9]+)+[A-Za-z0-9]*|^(?:st|nd|rd|th)\b|^-[0-9]{2}-[0-9]{2}|^-(?:[A-Za-z][A-Za-z\-]*)|^[A-Za-z]*_[A-Za-z0-9_]*|^[A-Za-z]+[0-9][A-Za-z0-9]*`)
	hexForm     = pattern.Of(`^x[0-9a-fA-F]+\b`)
	minuteForm  = pattern.Of(`^ ?m ?[0-9]{1,2}(?:\.[0-9]+)? ?s\b`)
	hourForm    = pattern.Of(`[0-9] ?h ?$`)
	zeroForm    = pattern.Of(`^0[0-9]+\b(?:[^.,]|$)`)
	dimensions  = pattern.Of(`^ ?[x\x{d7}] ?[0-9]`)
	suffixForm  = pattern.Of(`^ ?([kKMGT]|thousand|millions?|billion|mn|bn)(?:\b|$)`)
	nounForm    = pattern.Of(`^[ \x{a0}]?([A-Za-z][A-Za-z]*)(?: ([A-Za-z][A-Za-z]*))?(?: ([A-Za-z][A-Za-z]*))?`)
)

// Lex splits a sentence into tokens.
func (l Locale) Lex(s string) []Token {
	var all []Token
	for at := 0; at < len(s) && len(all) < MostTokens; {
		r, size := utf8.DecodeRuneInString(s[at:])
		switch {
		case unicode.IsSpace(r):
			at += size
		case arrows().MatchString(Cut(s[at:], 8)) && (at == 0 || s[at-1] != s[at]):
			n := len(arrows().FindString(Cut(s[at:], 8)))
			all = append(all, Token{Text: s[at : at+n], Mark: "->", From: at, To: at + n})
			at += n
		case unicode.IsLetter(r):
			n := wordLength(s[at:])
			word := strings.ToLower(s[at : at+n])
			if at+n+1 < len(s) && s[at+n] == '.' && Abbreviations[word+"."] {
				n++
			}
			all = append(all, Token{Text: s[at : at+n], Word: word, From: at, To: at + n})
			at += n
		case r >= '0' && r <= '9' || signAt(s, at):
			t := l.number(s, at)
			at = t.To
			if n := len(all); n > 0 && all[n-1].From+len(all[n-1].Text) == all[n-1].To && all[n-1].extend(&t) {
				all[n-1].Text, all[n-1].To = s[all[n-1].From:t.To], t.To
				continue
			}
			all = append(all, t)
		default:
			t := Token{Text: s[at : at+size], Mark: s[at : at+size], From: at, To: at + size}
			if r == '\u2013' || r == '\u2014' || r == '\u2212' {
				t.Mark = "-"
			}
			all = append(all, t)
			at += size
		}
	}
	return all
}

// extend joins the parts of a duration, as in "14 min 20 s"; false where they are none.
func (t *Token) extend(next *Token) bool {
	a, b := t.Num, next.Num
	if a == nil || b == nil || a.Unit.Dim != DimTime || b.Unit.Dim != DimTime || b.Sign != 0 || a.Decimals > 0 {
		return false
	}
	steps := map[float64]float64{86400: 3600, 3600: 60, 60: 1, 1: 1e-3}
	if micro := a.Unit.Scale == 1 && b.Unit.Scale == 1e-6; steps[a.Unit.Scale] != b.Unit.Scale && !micro || b.Value >= a.Unit.Scale/b.Unit.Scale {
		return false
	}
	k := a.Unit.Scale / b.Unit.Scale
	joined := *b
	joined.Value, joined.Sign = a.Value*k+b.Value, a.Sign
	joined.Printed = a.Printed + " " + b.Printed
	t.Num = &joined
	return true
}

// signAt reports whether a sign stands at a position: before a digit and not between
// two numbers.
func signAt(s string, at int) bool {
	r, size := utf8.DecodeRuneInString(s[at:])
	if r != '+' && r != '-' && r != '\u2212' && r != '\u2013' {
		return false
	}
	if at+size >= len(s) || s[at+size] < '0' || s[at+size] > '9' {
		return false
	}
	if at == 0 {
		return true
	}
	before, _ := utf8.DecodeLastRuneInString(s[:at])
	return unicode.IsSpace(before) || strings.ContainsRune("([|:/=,~<>\"\u2248\u2264\u2265", before)
}

// wordLength is the length of a word that begins with a letter, including digits, and dots,
// hyphens and slashes between letters and digits, as in p99.9 and RAID-5.
func wordLength(s string) int {
	n := 0
	for n < len(s) {
		r, size := utf8.DecodeRuneInString(s[n:])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' {
			joint := r == '-' || r == '.' || r == '\'' || r == '\u2019'
			if !joint || n+size >= len(s) {
				break
			}
			next, _ := utf8.DecodeRuneInString(s[n+size:])
			if !unicode.IsLetter(next) && !unicode.IsDigit(next) {
				break
			}
		}
		n += size
	}
	return n
}

// number parses a number with its sign and unit. An identifier that begins with a digit, such
// as a version or a date, is a word.
func (l Locale) number(s string, at int) Token {
	from, sign := at, 0
	r, size := utf8.DecodeRuneInString(s[at:])
	if r < '0' || r > '9' {
		sign = -1
		if r == '+' {
			sign = 1
		}
		at += size
	}
	q, n, ok := l.ReadNumber(s[at:])
	ok = ok && !zeroForm().MatchString(Cut(s[at:], 24))
	at += n
	if m := hexForm().FindString(Cut(s[at:], 64)); m != "" && q.Value == 0 {
		ok, at = false, at+len(m)
	}
	if m := strings.TrimPrefix(s[at:], " "); ok && (minuteForm().MatchString(Cut(s[at:], 16)) || strings.HasPrefix(m, "m") && wordLength(m) == 1 && hourForm().MatchString(s[max(0, from-4):from])) {
		at = len(s) - len(m) + 1
		q.Sign, q.Printed = sign, s[from:at]
		q.setUnit(Units["min"], "")
		return Token{Text: s[from:at], Num: &q, From: from, To: at}
	}
	if ok && !dimensions().MatchString(Cut(s[at:], 8)) && !timesForm().MatchString(Cut(s[at:], 12)) {
		if m := identForm().FindString(Cut(s[at:], 64)); m != "" {
			ok, at = false, at+len(m)
		}
	}
	if !ok {
		return Token{Text: s[from:at], Word: strings.ToLower(s[from:at]), From: from, To: at}
	}
	q.Sign = sign
	at += q.readTail(s[at:])
	q.Printed = strings.TrimSpace(s[from:at])
	return Token{Text: s[from:at], Num: &q, From: from, To: at}
}

// readTail parses what follows the digits: a multiplier, percent, a factor or a unit.
func (q *Quantity) readTail(rest string) int {
	if m := percentForm().FindString(Cut(rest, 32)); m != "" {
		q.Unit = Unit{Dim: DimPercent, Scale: 1}
		lower := strings.ToLower(m)
		q.Points = strings.Contains(lower, "point") || strings.HasSuffix(lower, "pt") || strings.HasSuffix(lower, "pts")
		if !q.Points && strings.HasSuffix(lower, "percentage") {
			q.Unit = Unit{}
			return 0
		}
		return len(m)
	}
	if m := pointForm().FindString(Cut(rest, 16)); m != "" {
		q.Unit, q.Points = Unit{Dim: DimPercent, Scale: 1}, true
		return len(m)
	}
	if dimensions().MatchString(Cut(rest, 8)) {
		q.Nouns, q.Unit = []string{"dimensions"}, Unit{Dim: DimCount, Scale: 1}
		return 0
	}
	if m := timesForm().FindString(Cut(rest, 12)); m != "" {
		q.Times = true
		return len(m)
	}
	n := 0
	if m := suffixForm().FindStringSubmatch(Cut(rest, 16)); m != nil {
		q.scaleBy(Multipliers[m[1]])
		n = len(m[0])
		rest = rest[n:]
	}
	if u, noun, length := ReadUnit(rest); length > 0 {
		q.setUnit(u, noun)
		return n + length
	}
	q.readNouns(rest)
	return n
}

func (q *Quantity) setUnit(u Unit, noun string) {
	q.Unit = u
	if noun != "" {
		q.Nouns = []string{noun}
	}
}

// readNouns collects the nouns after a plain number. They remain words of the sentence.
func (q *Quantity) readNouns(rest string) {
	m := nounForm().FindStringSubmatch(Cut(rest, 60))
	if m == nil {
		return
	}
	for _, w := range m[1:] {
		lower := strings.ToLower(w)
		if w == "" || Function[lower] || Ups[lower] || Downs[lower] || Goods[lower] != 0 {
			break
		}
		if u, _, n := ReadUnit(" " + w); n > 0 && q.Unit.Dim == "" && len(q.Nouns) > 0 && u.Dim == DimTime {
			break
		}
		q.Nouns = append(q.Nouns, Singular(w))
	}
	if len(q.Nouns) > 0 {
		q.Unit = Unit{Dim: DimCount, Scale: 1}
	}
}
