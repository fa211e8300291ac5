package number

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/pattern"
)

// Quantity is a printed number with its unit.
type Quantity struct {
	Value    float64 // without unit, with multiplier
	Half     float64 // half a unit of the last printed digit
	Unit     Unit
	Nouns    []string // of a count or a rate, singular and lower case
	Sign     int      // as printed: +1, -1 or 0
	Decimals int
	Points   bool   // percentage points
	Times    bool   // "3x"
	Doubtful bool   // the digits are ambiguous
	Printed  string // with its unit
}

// Percent reports whether the number is in percent, and not in points.
func (q *Quantity) Percent() bool { return q.Unit.Dim == DimPercent && !q.Points }

// Year reports whether a number may be a year.
func (q *Quantity) Year() bool {
	return (q.Unit.Dim == "" || q.Unit.Dim == DimCount) && q.Decimals == 0 && q.Value >= 1900 && q.Value <= 2100 && !strings.Contains(q.Printed, ",")
}

// Span is the interval that the number stands for, in the base unit.
func (q *Quantity) Span() Span {
	k := q.Unit.Scale
	if k == 0 {
		k = 1
	}
	v := q.Value
	if q.Sign < 0 {
		v = -v
	}
	return Span{Low: v - q.Half, High: v + q.Half}.Times(k)
}

// LooseSpan is the interval with the other common meaning of the unit.
func (q *Quantity) LooseSpan() Span {
	if q.Unit.Loose == 0 {
		return q.Span()
	}
	other := *q
	other.Unit.Scale = q.Unit.Loose
	return other.Span()
}

// Like reports whether two quantities can be compared.
func (q *Quantity) Like(o *Quantity) bool {
	if q.Unit.Dim == "" || o.Unit.Dim == "" {
		return true
	}
	if q.Unit.Dim != o.Unit.Dim || q.Points != o.Points {
		return false
	}
	return len(q.Nouns) == 0 || len(o.Nouns) == 0 || Intersect(q.Nouns, o.Nouns)
}

// Intersect reports whether two lists share a word.
func Intersect(a, b []string) bool {
	for _, x := range a {
		if slices.Contains(b, x) {
			return true
		}
	}
	return false
}

// Locale is the number format of a text.
type Locale struct{ european bool }

var (
	anyDigits  = pattern.Of(`^[0-9](?:[0-9.,'\x{2019}\x{a0}\x{202f}\x{2009}]*[0-9])?`)
	usGroups   = pattern.Of(`^[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?$`)
	euGroups   = pattern.Of(`^[0-9]{1,3}(?:\.[0-9]{3})+(?:,[0-9]+)?$`)
	thinGroups = pattern.Of(`^[0-9]{1,3}(?:['\x{2019}\x{a0}\x{202f}\x{2009}][0-9]{3})+(?:[.,][0-9]+)?$`)
	plainForm  = pattern.Of(`^[0-9]+(?:\.[0-9]+)?$`)
	commaForm  = pattern.Of(`^[0-9]+,[0-9]+$`)
	exponent   = pattern.Of(`^[eE][+\-]?[0-9]{1,3}\b`)
	tens       = pattern.Of(`^ ?[x\x{d7}*] ?10\^([+\-]?[0-9]{1,2})\b`)
	european   = pattern.Of(`\b[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]|\b[0-9]+,[0-9]{1,2} ?(?:%|ms\b|us\b|s\b|Prozent)`)
	american   = pattern.Of(`\b[0-9]{1,3}(?:,[0-9]{3})+\.[0-9]|\b[0-9]+\.[0-9]{1,2} ?(?:%|ms\b|us\b|s\b)`)
)

// LocaleOf detects the number format of a text.
func LocaleOf(text string) Locale {
	return Locale{european: european().MatchString(text) && !american().MatchString(text)}
}

// ReadNumber parses the number at the start of s. The length is 0 without one; a number of
// length n without ok is an identifier, such as a version or a date.
func (l Locale) ReadNumber(s string) (q Quantity, length int, ok bool) {
	text := anyDigits().FindString(Cut(s, 64))
	length = len(text)
	if length == 0 {
		return q, 0, false
	}
	digits, doubtful, ok := l.normal(text)
	if !ok {
		// the first number of a list without spaces
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
	q.Value, q.Decimals, q.Half, q.Doubtful = v, len(fraction), 0.5*math.Pow10(-len(fraction)), doubtful
	if e := exponent().FindString(s[length:]); e != "" {
		n, _ := strconv.Atoi(e[1:])
		q.scaleBy(math.Pow10(n))
		length += len(e)
	} else if m := tens().FindStringSubmatch(Cut(s[length:], 12)); m != nil {
		n, _ := strconv.Atoi(m[1])
		q.scaleBy(math.Pow10(n))
		length += len(m[0])
	}
	return q, length, !math.IsInf(q.Value, 0)
}

func (q *Quantity) scaleBy(k float64) { q.Value, q.Half = q.Value*k, q.Half*k }

// normal normalises digits: a decimal point, no grouping.
func (l Locale) normal(text string) (digits string, doubtful, ok bool) {
	strip := func(s, chars string) string {
		return strings.Map(func(r rune) rune {
			if strings.ContainsRune(chars, r) {
				return -1
			}
			return r
		}, s)
	}
	switch {
	case thinGroups().MatchString(text):
		return strings.ReplaceAll(strip(text, "'\u2019\u00a0\u202f\u2009"), ",", "."), false, true
	case l.european && euGroups().MatchString(text):
		return strings.ReplaceAll(strip(text, "."), ",", "."), false, true
	case l.european && commaForm().MatchString(text):
		return strings.ReplaceAll(text, ",", "."), false, true
	case usGroups().MatchString(text):
		return strip(text, ","), false, true
	case plainForm().MatchString(text):
		return text, false, true
	case euGroups().MatchString(text) && strings.Contains(text, ","):
		return strings.ReplaceAll(strip(text, "."), ",", "."), false, true
	case commaForm().MatchString(text):
		return strings.ReplaceAll(text, ",", "."), true, true
	}
	return "", false, false
}
