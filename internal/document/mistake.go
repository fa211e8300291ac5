package document

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/parameter"
)

// Mistake is one error in a file, with its position.
type Mistake struct {
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"` // from 1; 0 where the position is not in a file
	Column int    `json:"column,omitempty"`
	Text   string `json:"text"`
}

// Error formats the mistake as file:line:column: text.
func (m *Mistake) Error() string {
	switch {
	case m.Line > 0:
		return fmt.Sprintf("%s:%d:%d: %s", m.File, m.Line, m.Column, m.Text)
	case m.File != "":
		return m.File + ": " + m.Text
	}
	return m.Text
}

// Mistakes lists those in an error of Err; nil for any other error.
func Mistakes(err error) []*Mistake {
	var several interface{ Unwrap() []error }
	if !errors.As(err, &several) {
		if one := (*Mistake)(nil); errors.As(err, &one) {
			return []*Mistake{one}
		}
		return nil
	}
	var all []*Mistake
	for _, e := range several.Unwrap() {
		one := (*Mistake)(nil)
		if !errors.As(e, &one) {
			return nil
		}
		all = append(all, one)
	}
	return all
}

const (
	mostMistakes  = 100 // reported mistakes; one wrong template can cause thousands
	mostSuggested = 50  // mistakes with a suggestion
	mostListed    = 16  // known names listed in one mistake
	mostQuoted    = 80  // characters quoted from the file
)

// Complain adds a mistake at a node. Duplicates are dropped, since every item of a template
// would repeat it.
func (f *File) Complain(n *Node, format string, args ...any) {
	m := f.Position(n)
	m.Text = OneLine(fmt.Sprintf(format, args...))
	if _, known := f.seen[m]; known {
		return
	}
	f.seen[m] = struct{}{}
	f.mistakes = append(f.mistakes, m)
}

// Position is the position of a node in the file, or in the command line; nil is the beginning
// of the file.
func (f *File) Position(n *Node) Mistake {
	switch {
	case n == nil:
		return Mistake{File: f.Name, Line: 1, Column: 1}
	case n.Line < 0:
		return Mistake{File: f.elsewhere[-n.Line-1]}
	}
	return Mistake{File: f.Name, Line: max(1, int(n.Line)), Column: max(1, int(n.Column))}
}

// Mark gives a node, and all in it, a source other than the file.
func (f *File) Mark(n *Node, source string) {
	f.elsewhere = append(f.elsewhere, source)
	n.mark(int32(-len(f.elsewhere)))
}

func (n *Node) mark(line int32) {
	n.Line, n.Column = line, 0
	for i := range n.Kids {
		n.Kids[i].mark(line)
	}
}

// Outside reports whether a node was marked.
func (n *Node) Outside() bool { return n.Line < 0 }

// Count is the number of mistakes.
func (f *File) Count() int { return len(f.mistakes) }

// forget drops the mistakes after the given number.
func (f *File) forget(before int) {
	for _, m := range f.mistakes[before:] {
		delete(f.seen, m)
	}
	f.mistakes = f.mistakes[:before]
}

// Err is all mistakes in the order of the file, those from elsewhere last; nil when there are none.
func (f *File) Err() error {
	slices.SortStableFunc(f.mistakes, func(a, b Mistake) int {
		return cmp.Or(cmp.Compare(order(a), order(b)), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	var all []error
	for i := range f.mistakes {
		if i == mostMistakes {
			all = append(all, &Mistake{File: f.Name, Text: fmt.Sprintf("and %d more mistakes", len(f.mistakes)-i)})
			break
		}
		all = append(all, &f.mistakes[i])
	}
	if len(all) == 1 {
		return all[0]
	}
	return errors.Join(all...)
}

func order(m Mistake) int {
	if m.Line == 0 {
		return 1
	}
	return 0
}

// Unknown adds a mistake for an unknown name, with the nearest known one.
func (f *File) Unknown(n *Node, what, name string, known []string) {
	text := what + " " + Quote(name)
	near := ""
	if f.suggested < mostSuggested {
		f.suggested++
		near = parameter.Nearest(name, known)
	}
	switch {
	case near != "":
		text += fmt.Sprintf("; did you mean %q?", near)
	case len(known) > mostListed:
		text += fmt.Sprintf("; known: %s and %d more", strings.Join(known[:mostListed], ", "), len(known)-mostListed)
	case len(known) > 0:
		text += "; known: " + strings.Join(known, ", ")
	}
	f.Complain(n, "%s", text)
}

// Quote is a text of the file, shortened if it is long.
func Quote(text string) string {
	if short := []rune(text); len(short) > mostQuoted {
		text = string(short[:mostQuoted]) + "…"
	}
	return strconv.Quote(text)
}

// OneLine replaces line breaks in a mistake.
func OneLine(text string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || c == 0x85 || c == 0x2028 || c == 0x2029 {
			return ' '
		}
		return c
	}, text)
}
