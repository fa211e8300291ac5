package claim

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is a word, a number or a mark of a sentence.
type token struct {
	text string // as printed
	word string // in lower case; empty for numbers and marks
	mark string // a punctuation mark; an arrow is "->", a dash between numbers "-"
	num  *quantity
	from int // byte offsets in the sentence
	to   int
}

// mostTokens bounds a sentence. No sentence that people write comes near.
const mostTokens = 600

var (
	arrows      = regexp.MustCompile(`^(?:-{1,3}>|={1,2}>|\x{2192}|\x{21d2}|\x{27f6}|\x{27a1})`)
	percentForm = regexp.MustCompile(`^[ \x{a0}\x{202f}\x{2009}]?(?:%|(?i:percentage|percent|per cent|pct)\b)(?:[ -]?(?i:points?|pts?)\b)?`)
	pointForm   = regexp.MustCompile(`^ ?(?:points?|pp|p\.p\.|pts|ppt)(?:\b|$)`)
	timesForm   = regexp.MustCompile(`^ ?(?:x|X|\x{d7})(?:\b|$)|^[ -]?(?:times|fold)\b`)
	identForm   = regexp.MustCompile(`^(?:[.:][0-9]+)+[A-Za-z0-9]*|^(?:st|nd|rd|th)\b|^-[0-9]{2}-[0-9]{2}|^-(?:[A-Za-z][A-Za-z\-]*)|^[A-Za-z]*_[A-Za-z0-9_]*|^[A-Za-z]+[0-9][A-Za-z0-9]*`)
	hexForm     = regexp.MustCompile(`^x[0-9a-fA-F]+\b`)
	minuteForm  = regexp.MustCompile(`^ ?m ?[0-9]{1,2}(?:\.[0-9]+)? ?s\b`)
	hourForm    = regexp.MustCompile(`[0-9] ?h ?$`)
	zeroForm    = regexp.MustCompile(`^0[0-9]+\b(?:[^.,]|$)`)
	dimensions  = regexp.MustCompile(`^ ?[x\x{d7}] ?[0-9]`)
	suffixForm  = regexp.MustCompile(`^ ?([kKMGT]|thousand|millions?|billion|mn|bn)(?:\b|$)`)
	nounForm    = regexp.MustCompile(`^[ \x{a0}]?([A-Za-z][A-Za-z]*)(?: ([A-Za-z][A-Za-z]*))?(?: ([A-Za-z][A-Za-z]*))?`)
)

// lex splits a sentence into tokens.
func (l locale) lex(s string) []token {
	var all []token
	for at := 0; at < len(s) && len(all) < mostTokens; {
		r, size := utf8.DecodeRuneInString(s[at:])
		switch {
		case unicode.IsSpace(r):
			at += size
		case arrows.MatchString(cut(s[at:], 8)) && (at == 0 || s[at-1] != s[at]):
			n := len(arrows.FindString(cut(s[at:], 8)))
			all = append(all, token{text: s[at : at+n], mark: "->", from: at, to: at + n})
			at += n
		case unicode.IsLetter(r):
			n := wordLength(s[at:])
			word := strings.ToLower(s[at : at+n])
			if at+n+1 < len(s) && s[at+n] == '.' && abbreviations[word+"."] {
				n++
			}
			all = append(all, token{text: s[at : at+n], word: word, from: at, to: at + n})
			at += n
		case r >= '0' && r <= '9' || signAt(s, at):
			t := l.number(s, at)
			at = t.to
			if n := len(all); n > 0 && all[n-1].from+len(all[n-1].text) == all[n-1].to && all[n-1].extend(&t) {
				all[n-1].text, all[n-1].to = s[all[n-1].from:t.to], t.to
				continue
			}
			all = append(all, t)
		default:
			t := token{text: s[at : at+size], mark: s[at : at+size], from: at, to: at + size}
			if r == '\u2013' || r == '\u2014' || r == '\u2212' {
				t.mark = "-"
			}
			all = append(all, t)
			at += size
		}
	}
	return all
}

// extend joins the parts of a duration, as in "14 min 20 s"; false where they are none.
func (t *token) extend(next *token) bool {
	a, b := t.num, next.num
	if a == nil || b == nil || a.unit.dim != dimTime || b.unit.dim != dimTime || b.sign != 0 || a.decimals > 0 {
		return false
	}
	steps := map[float64]float64{86400: 3600, 3600: 60, 60: 1, 1: 1e-3}
	if micro := a.unit.scale == 1 && b.unit.scale == 1e-6; steps[a.unit.scale] != b.unit.scale && !micro || b.value >= a.unit.scale/b.unit.scale {
		return false
	}
	k := a.unit.scale / b.unit.scale
	joined := *b
	joined.value, joined.sign = a.value*k+b.value, a.sign
	joined.printed = a.printed + " " + b.printed
	t.num = &joined
	return true
}

// signAt tells whether a sign stands at a position: before a digit and not between
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

// wordLength is the length of a word that begins with a letter. Digits belong to it,
// and dots, hyphens and slashes between letters and digits, as in p99.9 and RAID-5.
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

// number reads a number with its sign and unit. An identifier that begins with a
// digit, such as a version or a date, is a word.
func (l locale) number(s string, at int) token {
	from, sign := at, 0
	r, size := utf8.DecodeRuneInString(s[at:])
	if r < '0' || r > '9' {
		sign = -1
		if r == '+' {
			sign = 1
		}
		at += size
	}
	q, n, ok := l.readNumber(s[at:])
	ok = ok && !zeroForm.MatchString(cut(s[at:], 24))
	at += n
	if m := hexForm.FindString(cut(s[at:], 64)); m != "" && q.value == 0 {
		ok, at = false, at+len(m)
	}
	if m := strings.TrimPrefix(s[at:], " "); ok && (minuteForm.MatchString(cut(s[at:], 16)) || strings.HasPrefix(m, "m") && wordLength(m) == 1 && hourForm.MatchString(s[max(0, from-4):from])) {
		at = len(s) - len(m) + 1
		q.sign, q.printed = sign, s[from:at]
		q.setUnit(units["min"], "")
		return token{text: s[from:at], num: &q, from: from, to: at}
	}
	if ok && !dimensions.MatchString(cut(s[at:], 8)) && !timesForm.MatchString(cut(s[at:], 12)) {
		if m := identForm.FindString(cut(s[at:], 64)); m != "" {
			ok, at = false, at+len(m)
		}
	}
	if !ok {
		return token{text: s[from:at], word: strings.ToLower(s[from:at]), from: from, to: at}
	}
	q.sign = sign
	at += q.readTail(s[at:])
	q.printed = strings.TrimSpace(s[from:at])
	return token{text: s[from:at], num: &q, from: from, to: at}
}

// readTail reads what follows the digits: a multiplier, percent, a factor or a unit.
func (q *quantity) readTail(rest string) int {
	if m := percentForm.FindString(cut(rest, 32)); m != "" {
		q.unit = unit{dim: dimPercent, scale: 1}
		lower := strings.ToLower(m)
		q.points = strings.Contains(lower, "point") || strings.HasSuffix(lower, "pt") || strings.HasSuffix(lower, "pts")
		if !q.points && strings.HasSuffix(lower, "percentage") {
			q.unit = unit{}
			return 0
		}
		return len(m)
	}
	if m := pointForm.FindString(cut(rest, 16)); m != "" {
		q.unit, q.points = unit{dim: dimPercent, scale: 1}, true
		return len(m)
	}
	if dimensions.MatchString(cut(rest, 8)) {
		q.nouns, q.unit = []string{"dimensions"}, unit{dim: dimCount, scale: 1}
		return 0
	}
	if m := timesForm.FindString(cut(rest, 12)); m != "" {
		q.times = true
		return len(m)
	}
	n := 0
	if m := suffixForm.FindStringSubmatch(cut(rest, 16)); m != nil {
		q.scaleBy(multipliers[m[1]])
		n = len(m[0])
		rest = rest[n:]
	}
	if u, noun, length := readUnit(rest); length > 0 {
		q.setUnit(u, noun)
		return n + length
	}
	q.readNouns(rest)
	return n
}

func (q *quantity) setUnit(u unit, noun string) {
	q.unit = u
	if noun != "" {
		q.nouns = []string{noun}
	}
}

// readNouns looks at the words after a plain number for the things that it counts.
// They stay words of the sentence.
func (q *quantity) readNouns(rest string) {
	m := nounForm.FindStringSubmatch(cut(rest, 60))
	if m == nil {
		return
	}
	for _, w := range m[1:] {
		lower := strings.ToLower(w)
		if w == "" || function[lower] || ups[lower] || downs[lower] || goods[lower] != 0 {
			break
		}
		if u, _, n := readUnit(" " + w); n > 0 && q.unit.dim == "" && len(q.nouns) > 0 && u.dim == dimTime {
			break
		}
		q.nouns = append(q.nouns, singular(w))
	}
	if len(q.nouns) > 0 {
		q.unit = unit{dim: dimCount, scale: 1}
	}
}
