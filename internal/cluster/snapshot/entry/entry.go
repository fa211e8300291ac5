// Package entry reads the entries of a snapshot's lists: their keys with templates and
// defaults, and their references by name.
package entry

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/cluster/snapshot/unit"
	"plimsoll/internal/document"
)

// Entry is one mapping of the file. A missing key is looked up in its template, then in the
// defaults. An invalid value is skipped or replaced by its default, so that one mistake does
// not cause others.
type Entry struct {
	File   *document.File
	Kind   string
	Name   string
	At     *document.Node
	layers [3]*document.Node
}

// Kind describes the entries of a list.
type Kind struct {
	Name      string // singular noun in errors: "host"
	Keys      []string
	Defaults  *document.Node
	Templates map[string]*document.Node
}

// Of is an entry without templates and defaults.
func Of(in *document.File, kind, name string, at *document.Node) Entry {
	return Entry{File: in, Kind: kind, Name: name, At: at, layers: [3]*document.Node{at}}
}

// Open opens an entry of a list. It is not named if its name is missing or invalid; the rest
// of it is checked nevertheless.
func (k *Kind) Open(in *document.File, at *document.Node) (e Entry, named bool) {
	e = Entry{File: in, Kind: k.Name, At: at, layers: [3]*document.Node{at, nil, k.Defaults}}
	if name := at.Find("name"); name == nil {
		in.Complain(at, "this %s has no name", k.Name)
		e.Name = "without a name"
	} else {
		e.Name, _ = ReadName(in, name, k.Name)
	}
	in.Table(at, e.Label(), k.Keys)
	if like := at.Find("like"); like != nil {
		if e.layers[1] = k.Templates[like.Text]; e.layers[1] == nil {
			e.Unknown(like, "unknown template", slices.Sorted(maps.Keys(k.Templates)))
		}
	}
	return e, at.Find("name") != nil && e.Name != ""
}

// Inner opens a mapping within an entry, such as its demand; it is empty if missing.
func (e *Entry) Inner(key string, known []string) (Entry, bool) {
	in := Of(e.File, e.Label(), key, e.Get(key))
	if in.At == nil || !e.File.Table(in.At, in.Label(), known) {
		in.layers[0] = nil
		return in, false
	}
	return in, true
}

// Label names an entry in errors.
func (e *Entry) Label() string { return strings.TrimSpace(e.Kind + " " + e.Name) }

// Complain records an error at a node of the entry.
func (e *Entry) Complain(n *document.Node, format string, args ...any) {
	e.File.Complain(n, "%s", e.Label()+": "+fmt.Sprintf(format, args...))
}

// Unknown records that the text of a node is not one of the known ones.
func (e *Entry) Unknown(n *document.Node, what string, known []string) {
	e.File.Unknown(n, e.Label()+": "+what, n.Text, known)
}

// Get is the value of a key; nil if no layer has it.
func (e *Entry) Get(key string) *document.Node {
	for _, layer := range e.layers {
		if layer == nil {
			continue
		}
		if n := layer.Find(key); n != nil {
			return n
		}
	}
	return nil
}

// Lacks reports whether a key is missing or an empty list.
func (e *Entry) Lacks(key string) bool {
	n := e.Get(key)
	return n == nil || n.Kind == document.List && len(n.Kids) == 0
}

// Text is a scalar; "" if the node is a list or a mapping.
func (e *Entry) Text(n *document.Node, what string) string {
	if n.Kind != document.Scalar {
		e.Complain(n, "%s must be a single value, not %s", what, n.Says())
		return ""
	}
	return strings.TrimSpace(n.Text)
}

// Required is the default of a mandatory key.
const Required = -1

// Number reads an integer without a unit, within a range.
func (e *Entry) Number(key string, otherwise, least, most int64) int {
	n := e.Get(key)
	if n == nil {
		if otherwise == Required {
			e.Complain(e.At, "%s is missing", key)
			return int(least)
		}
		return int(otherwise)
	}
	text := e.Text(n, key)
	x, err := strconv.ParseInt(text, 10, 64)
	switch {
	case text == "":
	case err != nil && strings.Trim(text, "-0123456789") == "":
		e.Complain(n, "%s is %s: must be %d to %d", key, document.Quote(text), least, most)
	case err != nil:
		e.Complain(n, "%s is %s: must be an integer", key, document.Quote(text))
	case x < least || x > most:
		e.Complain(n, "%s is %d: must be %d to %d", key, x, least, most)
	default:
		return int(x)
	}
	return int(max(otherwise, least))
}

// Count is the number of equal hosts or VMs of the entry. Templates and defaults have no
// count.
func (e *Entry) Count(most int) (count int, given bool) {
	if e.At.Find("count") == nil {
		return 1, false
	}
	own := Of(e.File, e.Kind, e.Name, e.At)
	return own.Number("count", 1, 1, int64(max(1, most))), true
}

// Flag reads true or false.
func (e *Entry) Flag(key string, otherwise bool) bool {
	n := e.Get(key)
	if n == nil {
		return otherwise
	}
	switch text := e.Text(n, key); text {
	case "true":
		return true
	case "false":
		return false
	case "":
	default:
		e.Complain(n, "%s is %s: must be true or false", key, document.Quote(text))
	}
	return otherwise
}

// Word reads one of a few words.
func (e *Entry) Word(key, otherwise string, known []string) string {
	n := e.Get(key)
	if n == nil {
		return otherwise
	}
	text := e.Text(n, key)
	if text == "" {
		return text
	}
	if i := slices.Index(known, text); i >= 0 {
		return known[i] // a constant instead of the text of the file
	}
	e.Unknown(n, key, known)
	return otherwise
}

// Amount reads a number with a unit. A percentage refers to the whole, if there is one.
func (e *Entry) Amount(n *document.Node, key string, q *unit.Kind, whole int64) int64 {
	text := e.Text(n, key)
	if text == "" {
		return 0
	}
	if whole > 0 && strings.HasSuffix(text, "%") {
		part, err := unit.Share.Parse(text)
		if err != nil || part > 1000 {
			e.Complain(n, "%s is %s: must be 0%% to 100%%", key, document.Quote(text))
			return 0
		}
		return whole/1000*part + whole%1000*part/1000
	}
	x, err := q.Parse(text)
	if err != nil {
		e.Complain(n, "%s is %s, which %v", key, document.Quote(text), err)
		return 0
	}
	return x
}

// Real reads an amount that may have decimals.
func (e *Entry) Real(n *document.Node, key string, q *unit.Kind) float64 {
	text := e.Text(n, key)
	if text == "" {
		return 0
	}
	x, err := q.ParseReal(text)
	if err != nil {
		e.Complain(n, "%s is %s, which %v", key, document.Quote(text), err)
		return 0
	}
	return x
}

// Quantity reads a key that is a number with a unit.
func (e *Entry) Quantity(key string, q *unit.Kind, otherwise int64) int64 {
	n := e.Get(key)
	switch {
	case n != nil:
		return e.Amount(n, key, q, 0)
	case otherwise == Required:
		e.Complain(e.At, "%s is missing", key)
		return 0
	}
	return otherwise
}

// Share reads a percentage, in per mille.
func (e *Entry) Share(key string, otherwise, most int64) int {
	n := e.Get(key)
	if n == nil {
		return int(otherwise)
	}
	x := e.Amount(n, key, unit.Share, 0)
	if x > most {
		e.Complain(n, "%s is %s: must be at most %s", key, document.Quote(n.Text), unit.PerMille(int(most)))
		return int(otherwise)
	}
	return int(x)
}

// Hour reads a time of day, in seconds after midnight.
func (e *Entry) Hour(key string, otherwise int64) int64 {
	n := e.Get(key)
	if n == nil {
		return otherwise
	}
	text := e.Text(n, key)
	hours, minutes, _ := strings.Cut(text, ":")
	h, err := strconv.Atoi(hours)
	m, bad := strconv.Atoi(minutes)
	if err != nil || bad != nil || h < 0 || h > 23 || m < 0 || m > 59 || len(minutes) != 2 {
		e.Complain(n, "%s is %s: must be a time of day, such as 14:30", key, document.Quote(text))
		return otherwise
	}
	return int64(h)*3600 + int64(m)*60
}

// texts reads a list of names; a single name is a list of one.
func (e *Entry) texts(key string) []document.Node {
	n := e.Get(key)
	switch {
	case n == nil:
		return nil
	case n.Kind == document.Scalar:
		return []document.Node{*n}
	case n.Kind == document.Mapping:
		e.Complain(n, "%s must be a list, such as [a, b], not a mapping", key)
		return nil
	}
	return n.Kids
}
