package claim

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// quantity is a printed number with its unit.
type quantity struct {
	value    float64 // without unit, with multiplier
	half     float64 // half a unit of the last printed digit
	unit     unit
	nouns    []string // of a count or a rate, singular and lower case
	sign     int      // as printed: +1, -1 or 0
	decimals int
	points   bool   // percentage points
	times    bool   // "3x"
	doubtful bool   // the digits can be read in two ways
	printed  string // with its unit
}

func (q *quantity) percent() bool { return q.unit.dim == dimPercent && !q.points }

// year tells whether a number may be a year.
func (q *quantity) year() bool {
	return (q.unit.dim == "" || q.unit.dim == dimCount) && q.decimals == 0 && q.value >= 1900 && q.value <= 2100 && !strings.Contains(q.printed, ",")
}

// span is the interval that the number stands for, in the base unit.
func (q *quantity) span() span {
	k := q.unit.scale
	if k == 0 {
		k = 1
	}
	v := q.value
	if q.sign < 0 {
		v = -v
	}
	return span{low: v - q.half, high: v + q.half}.times(k)
}

// looseSpan is the interval under the other common reading of the unit.
func (q *quantity) looseSpan() span {
	if q.unit.loose == 0 {
		return q.span()
	}
	other := *q
	other.unit.scale = q.unit.loose
	return other.span()
}

// like tells whether two quantities can be compared.
func (q *quantity) like(o *quantity) bool {
	if q.unit.dim == "" || o.unit.dim == "" {
		return true
	}
	if q.unit.dim != o.unit.dim || q.points != o.points {
		return false
	}
	return len(q.nouns) == 0 || len(o.nouns) == 0 || intersect(q.nouns, o.nouns)
}

func intersect(a, b []string) bool {
	for _, x := range a {
		for _, y := range b {
			if x == y {
				return true
			}
		}
	}
	return false
}

// locale is how a text writes numbers.
type locale struct{ european bool }

var (
	anyDigits  = regexp.MustCompile(`^[0-9](?:[0-9.,'\x{2019}\x{a0}\x{202f}\x{2009}]*[0-9])?`)
	usGroups   = regexp.MustCompile(`^[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?$`)
	euGroups   = regexp.MustCompile(`^[0-9]{1,3}(?:\.[0-9]{3})+(?:,[0-9]+)?$`)
	thinGroups = regexp.MustCompile(`^[0-9]{1,3}(?:['\x{2019}\x{a0}\x{202f}\x{2009}][0-9]{3})+(?:[.,][0-9]+)?$`)
	plainForm  = regexp.MustCompile(`^[0-9]+(?:\.[0-9]+)?$`)
	commaForm  = regexp.MustCompile(`^[0-9]+,[0-9]+$`)
	exponent   = regexp.MustCompile(`^[eE][+\-]?[0-9]{1,3}\b`)
	tens       = regexp.MustCompile(`^ ?[x\x{d7}*] ?10\^([+\-]?[0-9]{1,2})\b`)
	european   = regexp.MustCompile(`\b[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]|\b[0-9]+,[0-9]{1,2} ?(?:%|ms\b|us\b|s\b|Prozent)`)
	american   = regexp.MustCompile(`\b[0-9]{1,3}(?:,[0-9]{3})+\.[0-9]|\b[0-9]+\.[0-9]{1,2} ?(?:%|ms\b|us\b|s\b)`)
)

func localeOf(text string) locale {
	return locale{european: european.MatchString(text) && !american.MatchString(text)}
}

// readNumber reads the digits at the start of s. Length 0 means that no number
// stands there; a number of length n without ok is an identifier, such as a version
// or a date.
func (l locale) readNumber(s string) (q quantity, length int, ok bool) {
	text := anyDigits.FindString(cut(s, 64))
	length = len(text)
	if length == 0 {
		return q, 0, false
	}
	digits, doubtful, ok := l.normal(text)
	if !ok {
		// A number in a list without spaces: the first of it.
		if i := strings.IndexAny(text, ",'\u2019\u00a0\u202f\u2009"); i > 0 && !strings.Contains(text, ".") {
			digits, length, ok = text[:i], i, true
		} else {
			return q, length, false
		}
	}
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil || math.IsInf(v, 0) {
		return q, length, false
	}
	_, fraction, _ := strings.Cut(digits, ".")
	q.value, q.decimals, q.half, q.doubtful = v, len(fraction), 0.5*math.Pow10(-len(fraction)), doubtful
	if e := exponent.FindString(s[length:]); e != "" {
		n, _ := strconv.Atoi(e[1:])
		q.scaleBy(math.Pow10(n))
		length += len(e)
	} else if m := tens.FindStringSubmatch(cut(s[length:], 12)); m != nil {
		n, _ := strconv.Atoi(m[1])
		q.scaleBy(math.Pow10(n))
		length += len(m[0])
	}
	return q, length, !math.IsInf(q.value, 0)
}

func (q *quantity) scaleBy(k float64) { q.value, q.half = q.value*k, q.half*k }

// normal writes digits with a decimal point and without groups.
func (l locale) normal(text string) (digits string, doubtful, ok bool) {
	strip := func(s, chars string) string {
		return strings.Map(func(r rune) rune {
			if strings.ContainsRune(chars, r) {
				return -1
			}
			return r
		}, s)
	}
	switch {
	case thinGroups.MatchString(text):
		return strings.ReplaceAll(strip(text, "'\u2019\u00a0\u202f\u2009"), ",", "."), false, true
	case l.european && euGroups.MatchString(text):
		return strings.ReplaceAll(strip(text, "."), ",", "."), false, true
	case l.european && commaForm.MatchString(text):
		return strings.ReplaceAll(text, ",", "."), false, true
	case usGroups.MatchString(text):
		return strip(text, ","), false, true
	case plainForm.MatchString(text):
		return text, false, true
	case euGroups.MatchString(text) && strings.Contains(text, ","):
		return strings.ReplaceAll(strip(text, "."), ",", "."), false, true
	case commaForm.MatchString(text):
		return strings.ReplaceAll(text, ",", "."), true, true
	}
	return "", false, false
}
