package file

import (
	"slices"
	"strings"

	"plimsoll/internal/document"
	"plimsoll/internal/parameter"
	"plimsoll/internal/study"
)

// reader walks the nodes of a study file and collects every mistake with its position. Invalid
// parts are left out, so that they cause no further mistakes.
type reader struct {
	in      *document.File
	catalog *study.Catalog
	places  map[string]*document.Node // positions of settings and levels, for later mistakes
	traces  []traced                  // that the study names
	misled  bool                      // factors have mistakes, so that the metrics they add are unknown
}

// entry is one key of a mapping with its value.
type entry struct{ key, value *document.Node }

// scalar returns one value as written in the file, so that 4096_100_0 or 1.10 stay unchanged.
func (r *reader) scalar(n *document.Node, what string) (string, bool) {
	switch {
	case n.Refused: // already reported
		return "", false
	case n.Kind != document.Scalar:
		r.in.Complain(n, "%s must be a single value, not %s", what, n.Says())
		return "", false
	case strings.TrimSpace(n.Text) == "":
		r.in.Complain(n, "%s is empty", what)
		return "", false
	}
	return n.Text, true
}

// list parses a list; a single value is a list of one.
func (r *reader) list(n *document.Node, what string) ([]*document.Node, bool) {
	switch n.Kind {
	case document.List:
		return members(n), true
	case document.Scalar:
		return []*document.Node{n}, true
	case document.Mapping:
		r.in.Complain(n, "%s must be a list, such as [a, b], not a mapping", what)
	}
	return nil, false
}

// entries parses a mapping in order and rejects duplicate keys.
func (r *reader) entries(n *document.Node, what string) []entry {
	if n.Refused || n.Empty() {
		return nil
	}
	if n.Kind != document.Mapping {
		r.in.Complain(n, "%s must be a mapping, such as {key: value}, not %s", what, n.Says())
		return nil
	}
	var out []entry
	first := map[string]*document.Node{}
	for i := 0; i+1 < len(n.Kids); i += 2 {
		k, v := &n.Kids[i], &n.Kids[i+1]
		if k.Kind != document.Scalar {
			if !k.Refused {
				r.in.Complain(k, "a key must be one word, not %s", k.Says())
			}
			continue
		}
		if before, ok := first[k.Text]; ok {
			r.in.Complain(k, "duplicate key %q, first given in line %d", k.Text, before.Line)
			continue
		}
		first[k.Text] = k
		out = append(out, entry{k, v})
	}
	return out
}

// table parses a mapping and rejects unknown keys.
func (r *reader) table(n *document.Node, what string, known []string) map[string]entry {
	out := map[string]entry{}
	for _, e := range r.entries(n, what) {
		if !slices.Contains(known, e.key.Text) {
			r.in.Unknown(e.key, "unknown key", e.key.Text, known)
			continue
		}
		out[e.key.Text] = e
	}
	return out
}

// share reads a percentage.
func (r *reader) share(n *document.Node, what string) float64 {
	text, ok := r.scalar(n, what)
	if !ok {
		return 0
	}
	var s parameter.Share
	if err := s.UnmarshalText([]byte(text)); err != nil {
		r.in.Complain(n, "%s: %q is not %v", what, text, err)
	}
	return float64(s)
}

// members are the elements of a list.
func members(n *document.Node) []*document.Node {
	out := make([]*document.Node, len(n.Kids))
	for i := range n.Kids {
		out[i] = &n.Kids[i]
	}
	return out
}

// Readers of the parts of a study.
type (
	factorReader  struct{ r *reader }
	aimReader     struct{ r *reader }
	loadReader    struct{ r *reader }
	groupReader   struct{ r *reader }
	measureReader struct{ r *reader }
	tuneReader    struct{ r *reader }
)

func namesOf[T any](all []T, name func(T) string) []string {
	out := make([]string, len(all))
	for i, one := range all {
		out[i] = name(one)
	}
	return out
}

func find[T any](all []T, is func(T) bool) *T {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return &all[i]
	}
	return nil
}

// hasSetting reports whether a kind with such defaults has a setting of the name.
func hasSetting(defaults any, name string) bool {
	_, has := parameter.Find(defaults, name)
	return has
}
