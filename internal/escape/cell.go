package escape

import (
	"strconv"
	"strings"
)

// Cell keeps a spreadsheet from taking a text of a CSV file for a formula: one that begins
// with = + - @, tab or carriage return gets an apostrophe in front, as OWASP's "CSV
// Injection" has it. A number, and a percentage, stays as it is. Control characters are escaped as Text does.
func Cell(s string) string {
	if s == "" {
		return s
	}
	if _, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSuffix(s, "%"), " "), 64); err == nil {
		return s
	}
	if strings.ContainsRune("=+-@\t\r\n", rune(s[0])) || wide(s) {
		return "'" + Text(s)
	}
	return Text(s)
}

// wide says that a text begins with the full-width form of a character that begins a formula.
func wide(s string) bool {
	for _, lead := range []string{"＝", "＋", "－", "＠"} {
		if strings.HasPrefix(s, lead) {
			return true
		}
	}
	return false
}
