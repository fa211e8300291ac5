package snapshot

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"plimsoll/internal/document"
)

func sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// names are those of one kind of thing, by their places in its list.
type names struct {
	list  []string
	index map[string]int32
	lines []int32 // where they stand
	open  bool    // a new name is one more, and no mistake
}

func (s *names) add(name string, line int32) (int32, bool) {
	if s.index == nil {
		s.index = map[string]int32{}
	}
	if i, known := s.index[name]; known {
		return i, false
	}
	name = strings.Clone(name) // it outlives the text of the file
	i := int32(len(s.list))
	s.index[name] = i
	s.list, s.lines = append(s.list, name), append(s.lines, line)
	return i, true
}

const mostName = 200 // bytes

// name reads a name. A star is kept for patterns.
func (r *reader) name(n *document.Node, kind string) (string, bool) {
	if n.Kind != document.Scalar {
		r.in.Complain(n, "the name of a %s is one word, not %s", kind, n.Says())
		return "", false
	}
	if bad := badName(n.Text); bad != "" {
		r.in.Complain(n, "the name %s of a %s %s", document.Quote(n.Text), kind, bad)
		return "", false
	}
	return n.Text, true
}

// badName says what is wrong with a name.
func badName(name string) string {
	switch {
	case strings.TrimSpace(name) == "":
		return "is empty"
	case strings.TrimSpace(name) != name:
		return "begins or ends with a space"
	case len(name) > mostName:
		return "is longer than " + strconv.Itoa(mostName) + " bytes"
	case !utf8.ValidString(name):
		return "is not UTF-8 text"
	case strings.Contains(name, "*"):
		return "has a star, which patterns of names have"
	case document.OneLine(name) != name:
		return "has a control character"
	}
	return ""
}

// enter adds the name of an item and complains when it is taken.
func (r *reader) enter(s *names, f *fields, name string) (i int32, fresh bool) {
	at := f.at.Find("name")
	if i, fresh = s.add(name, at.Line); !fresh {
		r.in.Complain(at, "the name %q of a %s is taken by the one in line %d", name, f.kind, s.lines[i])
	}
	return i, fresh
}

// kept is a text that outlives the file, and is there once.
func (r *reader) kept(text string) string {
	i, _ := r.texts.add(text, 0)
	return r.texts.list[i]
}

// indexes looks a list of names up, and sorts what it finds.
func (f *fields) indexes(key string, s *names, what string) []int32 {
	var out []int32
	texts := f.texts(key)
	for i := range texts {
		n := &texts[i]
		id, known := s.index[n.Text]
		switch {
		case n.Kind != document.Scalar:
			f.complain(n, "a %s is one name, not %s", what, n.Says())
			continue
		case !known && s.open:
			name, fine := f.r.name(n, what)
			if !fine {
				continue
			}
			id, _ = s.add(name, n.Line)
		case !known:
			f.r.in.Unknown(n, f.label()+": unknown "+what, n.Text, s.list)
			continue
		}
		out = append(out, id)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// pick finds the items that a list of names, groups and patterns means.
func (f *fields) pick(key string, s *names, kind string) []int32 {
	var out []int32
	texts := f.texts(key)
	for i := range texts {
		n := &texts[i]
		if n.Kind != document.Scalar {
			f.complain(n, "%s has one name after the other, not %s", key, n.Says())
			continue
		}
		out = append(out, f.r.meant(n, s, kind, f.label())...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// meant are the items of one name, group or pattern.
func (r *reader) meant(n *document.Node, s *names, kind, label string) []int32 {
	if id, known := s.index[n.Text]; known {
		return []int32{id}
	}
	if group, known := r.groups[kind][n.Text]; known {
		return group
	}
	if !strings.Contains(n.Text, "*") {
		r.in.Unknown(n, label+": unknown "+kind, n.Text, slices.Concat(s.list, sortedKeys(r.groups[kind])))
		return nil
	}
	var out []int32
	for i, name := range s.list {
		if matches(n.Text, name) {
			out = append(out, int32(i))
		}
	}
	if out == nil {
		r.in.Complain(n, "%s: no %s is named like %s", label, kind, document.Quote(n.Text))
	}
	return out
}

// matches says whether a name is one of a pattern, in which a star stands for any text.
func matches(pattern, name string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	if !strings.HasPrefix(name, first) {
		return false
	}
	name = name[len(first):]
	for {
		part, after, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(name, part)
		}
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name, rest = name[i+len(part):], after
	}
}

// group reads the named groups of one kind. A group may hold those before it.
func (r *reader) group(n *document.Node, kind string, s *names) {
	if n == nil || !r.in.Table(n, "groups", nil) {
		return
	}
	for i := 0; i+1 < len(n.Kids); i += 2 {
		key := &n.Kids[i]
		name, fine := r.name(key, "group")
		if !fine {
			continue
		}
		if id, taken := s.index[name]; taken {
			r.in.Complain(key, "the group %q has the name of the %s in line %d", name, kind, s.lines[id])
			continue
		}
		if _, taken := r.groups[kind][name]; taken {
			r.in.Complain(key, "the group %q is there twice", name)
			continue
		}
		f := fields{r: r, kind: "group", name: name, at: key, layers: [3]*document.Node{{Kind: document.Mapping, Kids: n.Kids[i : i+2]}}}
		r.groups[kind][name] = f.pick(name, s, kind)
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// numbered is the name of one of several alike.
func numbered(name string, i, count int, counted bool) string {
	if !counted && count == 1 {
		return name
	}
	return name + "-" + strconv.Itoa(i+1)
}
