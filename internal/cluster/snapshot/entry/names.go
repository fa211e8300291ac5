package entry

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"plimsoll/internal/document"
)

// Names are the names of one kind of entry, numbered in order.
type Names struct {
	Kind  string // singular noun in errors: "host"
	List  []string
	index map[string]int32
	lines []int32 // of the file
	open  bool    // unknown names are added
	// Absent allows unknown names, which refer to nothing.
	Absent bool
	groups map[string][]int32
}

// Find is the number of a name.
func (s *Names) Find(name string) (int32, bool) {
	i, known := s.index[name]
	return i, known
}

// Add numbers a name, unless it exists: then it is not fresh.
func (s *Names) Add(name string, line int32) (i int32, fresh bool) {
	if s.index == nil {
		s.index = map[string]int32{}
	}
	if i, known := s.index[name]; known {
		return i, false
	}
	name = strings.Clone(name) // it outlives the text of the file
	i = int32(len(s.List))
	s.index[name] = i
	s.List, s.lines = append(s.List, name), append(s.lines, line)
	return i, true
}

// Keep is a copy of a text that outlives the file, stored once.
func (s *Names) Keep(text string) string {
	i, _ := s.Add(text, 0)
	return s.List[i]
}

// Enter adds the name of an entry; a duplicate is an error.
func (s *Names) Enter(e *Entry, name string) (i int32, fresh bool) {
	at := e.At.Find("name")
	if i, fresh = s.Add(name, at.Line); !fresh {
		e.File.Complain(at, "duplicate name %q of a %s, also in line %d", name, s.Kind, s.lines[i])
	}
	return i, fresh
}

// Declare reads a list of names. Without a list, the names are those that entries use.
func (s *Names) Declare(in *document.File, n *document.Node) {
	if s.open = n == nil; s.open {
		return
	}
	if n.Kind != document.List {
		in.Complain(n, "%ss must be a list, such as [a, b], not %s", s.Kind, n.Says())
		return
	}
	all := n.All()
	for i := range all {
		name, fine := ReadName(in, &all[i], s.Kind)
		if !fine {
			continue
		}
		if at, fresh := s.Add(name, all[i].Line); !fresh {
			in.Complain(&all[i], "the %s %q appears twice; it is in line %d", s.Kind, name, s.lines[at])
		}
	}
}

// Open reports whether unknown names are added.
func (s *Names) Open() bool { return s.open }

// Close sorts names that were collected from entries; from now on an unknown name is an error.
// It returns the new numbers by the former ones.
func (s *Names) Close() (renumbered []int32) {
	order := make([]int32, len(s.List)) // former numbers, sorted
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(s.List[a], s.List[b]) })
	renumbered = make([]int32, len(order))
	sorted := Names{Kind: s.Kind}
	for _, old := range order {
		renumbered[old], _ = sorted.Add(s.List[old], s.lines[old])
	}
	*s = sorted
	return renumbered
}

// Indexes looks up the names that a key lists, and sorts the numbers.
func (s *Names) Indexes(e *Entry, key string) []int32 {
	var out []int32
	texts := e.texts(key)
	for i := range texts {
		n := &texts[i]
		id, known := s.index[n.Text]
		switch {
		case n.Kind != document.Scalar:
			e.Complain(n, "a %s must be one name, not %s", s.Kind, n.Says())
			continue
		case !known && s.open:
			name, fine := ReadName(e.File, n, s.Kind)
			if !fine {
				continue
			}
			id, _ = s.Add(name, n.Line)
		case !known:
			e.Unknown(n, "unknown "+s.Kind, s.List)
			continue
		}
		out = append(out, id)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Pick finds the entries that a key lists by names, groups and patterns.
func (s *Names) Pick(e *Entry, key string) []int32 {
	var out []int32
	texts := e.texts(key)
	for i := range texts {
		n := &texts[i]
		if n.Kind != document.Scalar {
			e.Complain(n, "%s must be a list of names, not %s", key, n.Says())
			continue
		}
		out = append(out, s.meant(n, e)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// meant are the entries of one name, group or pattern.
func (s *Names) meant(n *document.Node, e *Entry) []int32 {
	if id, known := s.index[n.Text]; known {
		return []int32{id}
	}
	if group, known := s.groups[n.Text]; known {
		return group
	}
	if !strings.Contains(n.Text, "*") {
		if s.Absent {
			return nil
		}
		e.Unknown(n, "unknown "+s.Kind, slices.Concat(s.List, slices.Sorted(maps.Keys(s.groups))))
		return nil
	}
	var out []int32
	for i, name := range s.List {
		if Matches(n.Text, name) {
			out = append(out, int32(i))
		}
	}
	if out == nil && !s.Absent {
		e.Complain(n, "no %s matches %s", s.Kind, document.Quote(n.Text))
	}
	return out
}

// Group reads the named groups of this kind. A group may contain earlier groups.
func (s *Names) Group(in *document.File, n *document.Node) {
	if n == nil || !in.Table(n, "groups", nil) {
		return
	}
	s.groups = map[string][]int32{}
	for i := 0; i+1 < len(n.Kids); i += 2 {
		key := &n.Kids[i]
		name, fine := ReadName(in, key, "group")
		if !fine {
			continue
		}
		if id, taken := s.index[name]; taken {
			in.Complain(key, "the group %q has the name of the %s in line %d", name, s.Kind, s.lines[id])
			continue
		}
		if _, taken := s.groups[name]; taken {
			in.Complain(key, "the group %q appears twice", name)
			continue
		}
		e := Of(in, "group", name, &document.Node{Kind: document.Mapping, Kids: n.Kids[i : i+2]})
		s.groups[name] = s.Pick(&e, name)
	}
}

const mostName = 200 // bytes

// ReadName reads a name. A star is reserved for patterns.
func ReadName(in *document.File, n *document.Node, kind string) (string, bool) {
	if n.Kind != document.Scalar {
		in.Complain(n, "the name of a %s must be a single word, not %s", kind, n.Says())
		return "", false
	}
	if bad := BadName(n.Text); bad != "" {
		in.Complain(n, "the name %s of a %s %s", document.Quote(n.Text), kind, bad)
		return "", false
	}
	return n.Text, true
}

// BadName is the error of an invalid name.
func BadName(name string) string {
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
		return "contains a star, which is reserved for patterns"
	case document.OneLine(name) != name:
		return "contains a control character"
	}
	return ""
}

// Matches reports whether a name matches a pattern, in which a star stands for any text.
func Matches(pattern, name string) bool {
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
