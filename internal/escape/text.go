// Package escape makes text from elsewhere safe to show: names in a study, a results
// folder, an imported file or a snapshot, and messages of servers and agents.
package escape

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Text replaces everything that could steer a terminal or hide what is written by \u and its number:
// control characters other than newline and tab, bidirectional controls, zero-width and
// other format characters, line separators, tags, private characters, and bytes that are
// not UTF-8. Such an escape has the same meaning in JSON, so that JSON keeps its value.
func Text(s string) string {
	if clean(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\ufffd`)
		case !hidden(r):
			b.WriteString(s[i : i+size])
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += size
	}
	return b.String()
}

// Line is Text on one line: newlines and tabs are escaped as well.
func Line(s string) string {
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(Text(s))
}

// clean says that Text changes nothing.
func clean(s string) bool {
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if hidden(r) || r == utf8.RuneError && size == 1 {
			return false
		}
		i += size
	}
	return true
}

// hidden says that a character is not seen as itself.
func hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20 || r >= 0x7f && r < 0xa0:
		return true
	case r < 0x300:
		return r == 0xad // soft hyphen
	}
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs) || blank(r)
}

// blank says that a character takes part in text and shows nothing.
func blank(r rune) bool {
	switch {
	case r == 0x34f, r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0:
		return true
	case r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0000 && r <= 0xe0fff: // variation selectors, tags
		return true
	}
	return false
}
