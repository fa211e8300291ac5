package study

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/parameter"
)

// reader walks the nodes of a study file and takes down every mistake with its
// place. What is wrong is left out, so that one mistake does not cause others.
type reader struct {
	file     string
	catalog  *Catalog
	origin   map[*yaml.Node]string // path of the override that a node came from
	places   map[string]*yaml.Node // where settings and levels stand, for later complaints
	traces   []traced              // that the study names
	mistakes []*Mistake
	misled   bool // factors hold mistakes, so that what they add to the metrics is not known
}

// entry is one key of a mapping with its value.
type entry struct{ key, value *yaml.Node }

func (r *reader) complain(n *yaml.Node, format string, args ...any) {
	m := r.place(n)
	m.Text = oneLine(fmt.Sprintf(format, args...))
	r.mistakes = append(r.mistakes, &m)
}

// place is where a node stands: in the file, or in an override.
func (r *reader) place(n *yaml.Node) Mistake {
	if path, ok := r.origin[n]; ok {
		return Mistake{File: "--set " + path}
	}
	return Mistake{File: r.file, Line: n.Line, Column: n.Column}
}

// mostListed is how many known names a complaint lists.
const mostListed = 16

// unknown complains about a name that is none of the known ones.
func (r *reader) unknown(n *yaml.Node, what, name string, known []string) {
	text := fmt.Sprintf("%s %q", what, name)
	switch near := parameter.Nearest(name, known); {
	case near != "":
		text += fmt.Sprintf("; did you mean %q?", near)
	case len(known) > mostListed:
		text += fmt.Sprintf("; known: %s and %d more", strings.Join(known[:mostListed], ", "), len(known)-mostListed)
	case len(known) > 0:
		text += "; known: " + strings.Join(known, ", ")
	}
	r.complain(n, "%s", text)
}

// err returns the mistakes in the order of the file, those of overrides last.
func (r *reader) err() error {
	slices.SortStableFunc(r.mistakes, func(a, b *Mistake) int {
		return cmp.Or(cmp.Compare(order(a), order(b)), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if len(r.mistakes) == 1 {
		return r.mistakes[0]
	}
	all := make([]error, len(r.mistakes))
	for i, m := range r.mistakes {
		all[i] = m
	}
	return errors.Join(all...)
}

func order(m *Mistake) int {
	if m.Line == 0 {
		return 1
	}
	return 0
}

// oneLine keeps a complaint on one line, whatever text it quotes.
func oneLine(text string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || c == 0x85 || c == 0x2028 || c == 0x2029 {
			return ' '
		}
		return c
	}, text)
}

// kindName says what a node is, in a complaint.
func kindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	return fmt.Sprintf("%q", n.Value)
}

// isEmpty tells a value that was left out, as after "factors:".
func isEmpty(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Value == "" && n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0
}

// scalar reads one value as the text that stands in the file, so that
// 4096_100_0 or 1.10 stay as they were written.
func (r *reader) scalar(n *yaml.Node, what string) (string, bool) {
	switch {
	case n.Kind == yaml.AliasNode: // complained about already
		return "", false
	case n.Kind != yaml.ScalarNode:
		r.complain(n, "%s is one value, not %s", what, kindName(n))
		return "", false
	case strings.TrimSpace(n.Value) == "":
		r.complain(n, "%s is empty", what)
		return "", false
	}
	return n.Value, true
}

// list reads a list; one value alone stands for a list of one.
func (r *reader) list(n *yaml.Node, what string) ([]*yaml.Node, bool) {
	switch n.Kind {
	case yaml.SequenceNode:
		return n.Content, true
	case yaml.ScalarNode:
		return []*yaml.Node{n}, true
	case yaml.MappingNode:
		r.complain(n, "%s is a list, such as [a, b], not a mapping", what)
	}
	return nil, false
}

// entries reads a mapping in its order and refuses a key that is given twice.
func (r *reader) entries(n *yaml.Node, what string) []entry {
	if n.Kind == yaml.AliasNode || isEmpty(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		r.complain(n, "%s is a mapping, such as {key: value}, not %s", what, kindName(n))
		return nil
	}
	var out []entry
	first := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode {
			if k.Kind != yaml.AliasNode {
				r.complain(k, "a key is one word, not %s", kindName(k))
			}
			continue
		}
		if before, ok := first[k.Value]; ok {
			r.complain(k, "the key %q stands here a second time; it is given in line %d", k.Value, before.Line)
			continue
		}
		first[k.Value] = k
		out = append(out, entry{k, v})
	}
	return out
}

// table reads a mapping whose keys are all known.
func (r *reader) table(n *yaml.Node, what string, known []string) map[string]entry {
	out := map[string]entry{}
	for _, e := range r.entries(n, what) {
		if !slices.Contains(known, e.key.Value) {
			r.unknown(e.key, "unknown key", e.key.Value, known)
			continue
		}
		out[e.key.Value] = e
	}
	return out
}

// share reads a percentage.
func (r *reader) share(n *yaml.Node, what string) float64 {
	text, ok := r.scalar(n, what)
	if !ok {
		return 0
	}
	var s parameter.Share
	if err := s.UnmarshalText([]byte(text)); err != nil {
		r.complain(n, "%s: %q is not %v", what, text, err)
	}
	return float64(s)
}
