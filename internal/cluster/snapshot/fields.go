package snapshot

import (
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/scenario"
	"plimsoll/internal/document"
)

// reader takes down every mistake with its place. What is wrong is left out or has its
// default, so that one mistake does not cause others.
type reader struct {
	in   *document.File
	most limits

	c         *cluster.Cluster
	scenario  *scenario.Scenario                   // where the file says what happens
	defaults  map[string]*document.Node            // by kind of item
	templates map[string]map[string]*document.Node // by kind and name
	hosts     names
	vms       names
	pools     names
	networks  names
	stores    names
	texts     names                         // that the cluster keeps and that are no names
	groups    map[string]map[string][]int32 // by kind and name
	rulesAt   []document.Node
	sums      map[string]int64
	core      int64 // MHz by which sizes are counted
}

// limits keep a short file from asking for more than a VM can hold.
type limits struct{ hosts, vms, pools, rules int }

// fields is one item of the file: what it says itself, then its template, then the
// defaults.
type fields struct {
	r      *reader
	kind   string
	name   string
	at     *document.Node
	layers [3]*document.Node
}

// item opens one item of a list. It is left out when it has no name; what else it says is
// checked all the same.
func (r *reader) item(n *document.Node, kind string, known []string) (f fields, named bool) {
	f = fields{r: r, kind: kind, at: n, layers: [3]*document.Node{n, nil, r.defaults[kind]}}
	if name := n.Find("name"); name == nil {
		r.in.Complain(n, "this %s has no name", kind)
		f.name = "without a name"
	} else {
		f.name, _ = r.name(name, kind)
	}
	r.in.Table(n, f.label(), known)
	if like := n.Find("like"); like != nil {
		if f.layers[1] = r.templates[kind][like.Text]; f.layers[1] == nil {
			r.in.Unknown(like, f.label()+": unknown template", like.Text, sortedKeys(r.templates[kind]))
		}
	}
	return f, n.Find("name") != nil && f.name != ""
}

func (f *fields) label() string { return strings.TrimSpace(f.kind + " " + f.name) }

func (f *fields) complain(n *document.Node, format string, args ...any) {
	f.r.in.Complain(n, "%s", f.label()+": "+sprintf(format, args...))
}

// get is the value of a key where it is given first.
func (f *fields) get(key string) *document.Node {
	for _, layer := range f.layers {
		if layer == nil {
			continue
		}
		if n := layer.Find(key); n != nil {
			return n
		}
	}
	return nil
}

// scalar is one value as it stands in the file; "" when it is not one.
func (f *fields) scalar(n *document.Node, what string) string {
	if n.Kind != document.Scalar {
		f.complain(n, "%s is one value, not %s", what, n.Says())
		return ""
	}
	return strings.TrimSpace(n.Text)
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
		f.complain(n, "%s is %s, which is out of the range from %d to %d", key, document.Quote(text), s.least, s.most)
	case err != nil:
		f.complain(n, "%s is %s, which is not a whole number", key, document.Quote(text))
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
		f.complain(n, "%s is true or false, not %s", key, document.Quote(text))
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
	f.r.in.Unknown(n, f.label()+": "+key, n.Text, known)
	return otherwise
}

// amount reads a number with a unit from a value. A percentage is one of the whole,
// where there is one.
func (f *fields) amount(n *document.Node, key string, q *quantity, whole int64) int64 {
	text := f.scalar(n, key)
	if text == "" {
		return 0
	}
	if whole > 0 && strings.HasSuffix(text, "%") {
		part, err := share.parse(text)
		if err != nil || part > 1000 {
			f.complain(n, "%s is %s, which is not from 0%% to 100%%", key, document.Quote(text))
			return 0
		}
		return whole/1000*part + whole%1000*part/1000
	}
	x, err := q.parse(text)
	if err != nil {
		f.complain(n, "%s is %s, which %v", key, document.Quote(text), err)
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
		f.complain(n, "%s is %s, which is more than %s", key, document.Quote(n.Text), perMille(int(most)))
		return int(otherwise)
	}
	return int(x)
}

// texts reads a list of names; one name alone stands for a list of one.
func (f *fields) texts(key string) []document.Node {
	n := f.get(key)
	switch {
	case n == nil:
		return nil
	case n.Kind == document.Scalar:
		return []document.Node{*n}
	case n.Kind == document.Mapping:
		f.complain(n, "%s is a list, such as [a, b], not a mapping", key)
		return nil
	}
	return n.Kids
}

// inner opens a mapping within an item, such as its demand.
func (f *fields) inner(key string, known []string) (fields, bool) {
	n := f.get(key)
	in := fields{r: f.r, kind: f.label(), name: key, at: n, layers: [3]*document.Node{n}}
	if n == nil || !f.r.in.Table(n, in.label(), known) {
		return in, false
	}
	return in, true
}
