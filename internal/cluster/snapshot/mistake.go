package snapshot

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/parameter"
)

// Mistake is one thing that is wrong in a snapshot, with its place.
type Mistake struct {
	File         string
	Line, Column int // from 1
	Text         string
}

// Error is the mistake as editors and people read it: file:line:column: text.
func (m *Mistake) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", m.File, m.Line, m.Column, m.Text)
}

const (
	mostMistakes  = 100 // that are reported; one wrong template can make thousands
	mostSuggested = 50  // mistakes that a near name is looked for
	mostListed    = 16  // known names in one complaint
	mostQuoted    = 80  // characters of what stood in the file
)

// complain takes a mistake down. The same one is taken once, since every machine of a
// template would repeat it.
func (r *reader) complain(n *node, format string, args ...any) {
	m := Mistake{File: r.file, Line: 1, Column: 1, Text: oneLine(fmt.Sprintf(format, args...))}
	if n != nil {
		m.Line, m.Column = max(1, int(n.line)), max(1, int(n.column))
	}
	if _, known := r.seen[m]; known {
		return
	}
	r.seen[m] = struct{}{}
	r.mistakes = append(r.mistakes, m)
}

// forget drops the mistakes that were taken down since there were so many.
func (r *reader) forget(before int) {
	for _, m := range r.mistakes[before:] {
		delete(r.seen, m)
	}
	r.mistakes = r.mistakes[:before]
}

// err is all mistakes in the order of the file; nil when there are none.
func (r *reader) err() error {
	slices.SortStableFunc(r.mistakes, func(a, b Mistake) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	var all []error
	for i := range r.mistakes {
		if i == mostMistakes {
			all = append(all, fmt.Errorf("%s: and %d more mistakes", r.file, len(r.mistakes)-i))
			break
		}
		all = append(all, &r.mistakes[i])
	}
	if len(all) == 1 {
		return all[0]
	}
	return errors.Join(all...)
}

// unknown complains about a name that is none of the known ones.
func (r *reader) unknown(n *node, what string, known []string) {
	text := what + " " + quote(n.text)
	near := ""
	if r.suggested < mostSuggested {
		r.suggested++
		near = parameter.Nearest(n.text, known)
	}
	switch {
	case near != "":
		text += fmt.Sprintf("; did you mean %q?", near)
	case len(known) > mostListed:
		text += fmt.Sprintf("; known: %s and %d more", strings.Join(known[:mostListed], ", "), len(known)-mostListed)
	case len(known) > 0:
		text += "; known: " + strings.Join(known, ", ")
	}
	r.complain(n, "%s", text)
}

// quote is what stood in the file, cut where it is long.
func quote(text string) string {
	if short := []rune(text); len(short) > mostQuoted {
		text = string(short[:mostQuoted]) + "…"
	}
	return strconv.Quote(text)
}

// oneLine keeps a complaint on one line, whatever it quotes.
func oneLine(text string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || c == 0x85 || c == 0x2028 || c == 0x2029 {
			return ' '
		}
		return c
	}, text)
}
