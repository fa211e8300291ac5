package snapshot

import (
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/scenario"
)

// reader takes down every mistake with its place. What is wrong is left out or has its
// default, so that one mistake does not cause others.
type reader struct {
	file      string
	mistakes  []Mistake
	seen      map[Mistake]struct{}
	suggested int
	most      limits

	c         *cluster.Cluster
	scenario  *scenario.Scenario          // where the file says what happens
	defaults  map[string]*node            // by kind of item
	templates map[string]map[string]*node // by kind and name
	hosts     names
	vms       names
	pools     names
	networks  names
	stores    names
	texts     names                         // that the cluster keeps and that are no names
	groups    map[string]map[string][]int32 // by kind and name
	rulesAt   []node
	sums      map[string]int64
	core      int64 // MHz by which sizes are counted
}

// limits keep a short file from asking for more than a machine can hold.
type limits struct{ hosts, vms, pools, rules int }

// fields is one item of the file: what it says itself, then its template, then the
// defaults.
type fields struct {
	r      *reader
	kind   string
	name   string
	at     *node
	layers [3]*node
}

// table checks that a value is a mapping of known keys, each given once.
func (r *reader) table(n *node, what string, known []string) bool {
	if n.kind != mapping {
		if !n.empty() {
			r.complain(n, "%s is a mapping, such as {key: value}, not %s", what, n.says())
		}
		return false
	}
	for i := 0; i+1 < len(n.kids); i += 2 {
		k := &n.kids[i]
		switch {
		case k.kind != scalar:
			r.complain(k, "a key is one word, not %s", k.says())
		case known != nil && !slices.Contains(known, k.text):
			r.unknown(k, what+": unknown key", known)
		default:
			for j := 0; j < i && known != nil; j += 2 {
				if n.kids[j].text == k.text {
					r.complain(k, "the key %q stands here a second time; it is given in line %d", k.text, n.kids[j].line)
				}
			}
		}
	}
	return true
}

// item opens one item of a list. It is left out when it has no name; what else it says is
// checked all the same.
func (r *reader) item(n *node, kind string, known []string) (f fields, named bool) {
	f = fields{r: r, kind: kind, at: n, layers: [3]*node{n, nil, r.defaults[kind]}}
	if name := n.find("name"); name == nil {
		r.complain(n, "this %s has no name", kind)
		f.name = "without a name"
	} else {
		f.name, _ = r.name(name, kind)
	}
	r.table(n, f.label(), known)
	if like := n.find("like"); like != nil {
		if f.layers[1] = r.templates[kind][like.text]; f.layers[1] == nil {
			r.unknown(like, f.label()+": unknown template", sortedKeys(r.templates[kind]))
		}
	}
	return f, n.find("name") != nil && f.name != ""
}

func (f *fields) label() string { return strings.TrimSpace(f.kind + " " + f.name) }

func (f *fields) complain(n *node, format string, args ...any) {
	f.r.complain(n, "%s", f.label()+": "+sprintf(format, args...))
}

// get is the value of a key where it is given first.
func (f *fields) get(key string) *node {
	for _, layer := range f.layers {
		if layer == nil {
			continue
		}
		if n := layer.find(key); n != nil {
			return n
		}
	}
	return nil
}

// scalar is one value as it stands in the file; "" when it is not one.
func (f *fields) scalar(n *node, what string) string {
	if n.kind != scalar {
		f.complain(n, "%s is one value, not %s", what, n.says())
		return ""
	}
	return strings.TrimSpace(n.text)
}

// span is between which numbers a value must be, and what it is when it is not given.
type span struct{ otherwise, least, most int64 }

// required is the default of what must be given.
const required = -1

// number reads a whole number without a unit.
func (f *fields) number(key string, s span) int {
	n := f.get(key)
	if n == nil {
		if s.otherwise == required {
			f.complain(f.at, "%s is missing", key)
			return int(s.least)
		}
		return int(s.otherwise)
	}
	text := f.scalar(n, key)
	x, err := strconv.ParseInt(text, 10, 64)
	switch {
	case text == "":
	case err != nil && strings.Trim(text, "-0123456789") == "":
		f.complain(n, "%s is %s, which is out of the range from %d to %d", key, quote(text), s.least, s.most)
	case err != nil:
		f.complain(n, "%s is %s, which is not a whole number", key, quote(text))
	case x < s.least || x > s.most:
		f.complain(n, "%s is %d, which is out of the range from %d to %d", key, x, s.least, s.most)
	default:
		return int(x)
	}
	return int(max(s.otherwise, s.least))
}

// flag reads true or false.
func (f *fields) flag(key string, otherwise bool) bool {
	n := f.get(key)
	if n == nil {
		return otherwise
	}
	switch text := f.scalar(n, key); text {
	case "true":
		return true
	case "false":
		return false
	case "":
	default:
		f.complain(n, "%s is true or false, not %s", key, quote(text))
	}
	return otherwise
}

// word reads one of a few words.
func (f *fields) word(key, otherwise string, known []string) string {
	n := f.get(key)
	if n == nil {
		return otherwise
	}
	text := f.scalar(n, key)
	if text == "" {
		return text
	}
	if i := slices.Index(known, text); i >= 0 {
		return known[i] // and not the text of the file
	}
	f.r.unknown(n, f.label()+": "+key, known)
	return otherwise
}

// amount reads a number with a unit from a value. A percentage is one of the whole,
// where there is one.
func (f *fields) amount(n *node, key string, q *quantity, whole int64) int64 {
	text := f.scalar(n, key)
	if text == "" {
		return 0
	}
	if whole > 0 && strings.HasSuffix(text, "%") {
		part, err := share.parse(text)
		if err != nil || part > 1000 {
			f.complain(n, "%s is %s, which is not from 0%% to 100%%", key, quote(text))
			return 0
		}
		return whole/1000*part + whole%1000*part/1000
	}
	x, err := q.parse(text)
	if err != nil {
		f.complain(n, "%s is %s, which %v", key, quote(text), err)
		return 0
	}
	return x
}

// quantity reads a key that is a number with a unit.
func (f *fields) quantity(key string, q *quantity, otherwise int64) int64 {
	n := f.get(key)
	switch {
	case n != nil:
		return f.amount(n, key, q, 0)
	case otherwise == required:
		f.complain(f.at, "%s is missing", key)
		return 0
	}
	return otherwise
}

// portion reads a share, in per mille.
func (f *fields) portion(key string, otherwise, most int64) int {
	n := f.get(key)
	if n == nil {
		return int(otherwise)
	}
	x := f.amount(n, key, &share, 0)
	if x > most {
		f.complain(n, "%s is %s, which is more than %s", key, quote(n.text), perMille(int(most)))
		return int(otherwise)
	}
	return int(x)
}

// texts reads a list of names; one name alone stands for a list of one.
func (f *fields) texts(key string) []node {
	n := f.get(key)
	switch {
	case n == nil:
		return nil
	case n.kind == scalar:
		return []node{*n}
	case n.kind == mapping:
		f.complain(n, "%s is a list, such as [a, b], not a mapping", key)
		return nil
	}
	return n.kids
}

// inner opens a mapping within an item, such as its demand.
func (f *fields) inner(key string, known []string) (fields, bool) {
	n := f.get(key)
	in := fields{r: f.r, kind: f.label(), name: key, at: n, layers: [3]*node{n}}
	if n == nil || !f.r.table(n, in.label(), known) {
		return in, false
	}
	return in, true
}
