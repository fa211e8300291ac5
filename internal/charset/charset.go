// Package charset says of which characters a text consists. The program for guests links it in
// place of regular expressions, which are a large part of a small program.
package charset

import "strings"

// Sets of characters.
const (
	Digits  = "0123456789"
	Hex     = Digits + "abcdef"
	Letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	Base32  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	Space   = "\t\n\f\r "
)

// Only reports whether a text has characters of a set and no others.
func Only(text, set string) bool { return text != "" && strings.Trim(text, set) == "" }

// Name reports whether a text has so many characters at most, a letter or a digit first and
// then letters, digits and punctuation.
func Name(text, punctuation string, most int) bool {
	return len(text) <= most && Only(text[:min(1, len(text))], Letters+Digits) && Only(text, Letters+Digits+punctuation)
}
