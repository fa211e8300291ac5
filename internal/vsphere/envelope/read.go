package envelope

import (
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/vmware/govmomi/vim25/types"
)

// reader decodes a message. After a failure its values are invalid.
type reader struct {
	text   string
	at     int
	failed bool
	prefix string   // of the envelope
	around []string // tags from the envelope to the first element of the body

	full   string      // name of the tag, with its prefix
	name   string      // without it
	end    bool        // an end tag
	single bool        // an empty-element tag
	kind   string      // of a reference
	typed  string      // type attribute of the value
	spaces [][2]string // attributes and values of namespace declarations of envelope and body
	naming bool        // it declares the prefix of govmomi's type attributes
	named  bool        // an enclosing element declares it
	beside bool        // types of storage policies are known as well
}

func (r *reader) fail() { r.failed = true }

// govmomi is the prefix of govmomi's type attributes.
const govmomi = "_XMLSchema-instance"

// prologs are the XML declarations of clients.
var prologs = []string{`<?xml version="1.0" encoding="UTF-8"?>`, `<?xml version="1.0" encoding="utf-8"?>`, `<?xml version="1.0"?>`}

// open reads up to the first element of the body, and returns its name.
func (r *reader) open() string {
	if strings.IndexByte(r.text, '\r') >= 0 || !utf8.ValidString(r.text) {
		r.fail()
		return ""
	}
	for _, prolog := range prologs {
		if strings.HasPrefix(r.text, prolog) {
			r.at = len(prolog)
			break
		}
	}
	for _, want := range []string{"Envelope", "Body", ""} {
		if r.tag(); r.failed || r.end || r.single || want != "" && (r.name != want || !r.soap()) {
			r.fail()
			return ""
		}
		r.around = append(r.around, r.full)
	}
	return r.name
}

// soap reports whether the tag is in the SOAP namespace: the envelope declares it, and the
// body has its prefix.
func (r *reader) soap() bool {
	prefix := "xmlns"
	if p, _, has := strings.Cut(r.full, ":"); has {
		prefix += ":" + p
	}
	of, declared := r.declared(prefix)
	if len(r.around) == 0 {
		r.prefix = prefix
		return declared && of == "http://schemas.xmlsoap.org/soap/envelope/"
	}
	return prefix == r.prefix && !declared
}

// declared is the namespace of an attribute, where the tag declares it.
func (r *reader) declared(attribute string) (of string, is bool) {
	for _, s := range r.spaces {
		if s[0] == attribute {
			of, is = s[1], true
		}
	}
	return of, is
}

// close reads the end tags of body and envelope, after that of the first element.
func (r *reader) close() {
	for i := len(r.around) - 1; i >= 0 && !r.failed; i-- {
		if !r.end || r.full != r.around[i] {
			r.fail()
		}
		if i > 0 {
			r.tag()
		}
	}
	if strings.TrimSpace(r.text[r.at:]) != "" {
		r.fail()
	}
}

// tag reads the next tag, after white space only.
func (r *reader) tag() {
	for r.at < len(r.text) && isSpace(r.text[r.at]) {
		r.at++
	}
	if r.at >= len(r.text) || r.text[r.at] != '<' {
		r.fail()
		return
	}
	r.at++
	r.end, r.single, r.kind, r.typed, r.spaces, r.naming = false, false, "", "", r.spaces[:0], false
	if r.at < len(r.text) && r.text[r.at] == '/' {
		r.end = true
		r.at++
	}
	r.full = r.word()
	if r.name = local(r.full); r.name == "" {
		r.fail()
	}
	for !r.failed && !r.attribute() {
	}
}

// word reads a name with its prefix.
func (r *reader) word() string {
	from := r.at
	for r.at < len(r.text) {
		c := r.text[r.at]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == ':' || c == '-' || c == '.' {
			r.at++
			continue
		}
		break
	}
	return r.text[from:r.at]
}

func local(name string) string {
	if i := strings.IndexByte(name, ':'); i >= 0 {
		return name[i+1:]
	}
	return name
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' }

// attribute reads an attribute or the end of the tag, and reports whether it was the end.
func (r *reader) attribute() (over bool) {
	for r.at < len(r.text) && isSpace(r.text[r.at]) {
		r.at++
	}
	rest := r.text[r.at:]
	switch {
	case len(rest) > 0 && rest[0] == '>':
		r.at++
		return true
	case !r.end && len(rest) > 1 && rest[0] == '/' && rest[1] == '>':
		r.at, r.single = r.at+2, true
		return true
	}
	name := r.word()
	if name == "" || r.end || r.at+1 >= len(r.text) || r.text[r.at] != '=' || r.text[r.at+1] != '"' {
		r.fail()
		return true
	}
	r.at += 2
	value, _, ended := strings.Cut(r.text[r.at:], `"`)
	if !ended || strings.ContainsAny(value, "<&\n\t") || strings.ContainsFunc(value, illegal) {
		r.fail()
		return true
	}
	r.at += len(value) + 1
	switch {
	case name == "type":
		r.kind = value
	case name == "xsi:type" || name == govmomi+":type" && (r.naming || r.named):
		r.typed = value
	case name == "xmlns:"+govmomi && value == schema:
		r.naming = true
	case name == "xmlns:xsi" && value != schema:
		r.fail()
	case name == "xmlns" || strings.HasPrefix(name, "xmlns:"):
		if len(r.around) < 2 {
			r.spaces = append(r.spaces, [2]string{name, value})
		}
	default:
		r.fail()
	}
	return false
}

// fields reads the elements of a structure, and its end tag.
func (r *reader) fields(v reflect.Value) {
	p := planOf(v.Type())
	if !p.plain {
		r.fail()
	}
	var few [64]bool
	seen := few[:min(len(p.list), len(few))]
	if len(p.list) > len(few) {
		seen = make([]bool, len(p.list))
	}
	for !r.failed {
		if r.tag(); r.failed || r.end {
			return
		}
		i, known := p.by[r.name]
		if !known || seen[i] && !p.list[i].many {
			r.fail()
			return
		}
		seen[i] = true
		f := &p.list[i]
		into := v.FieldByIndex(f.index)
		switch {
		case f.many:
			if into.Type().Elem().Kind() == reflect.Pointer {
				r.fail()
				return
			}
			one := reflect.New(into.Type().Elem()).Elem()
			r.value(f, one)
			into.Set(reflect.Append(into, one))
		case into.Kind() == reflect.Pointer:
			one := reflect.New(into.Type().Elem())
			r.value(f, one.Elem())
			into.Set(one)
		default:
			r.value(f, into)
		}
	}
}

// value reads the content of an element, and its end tag.
func (r *reader) value(f *field, into reflect.Value) {
	is, full := f.is, r.full
	if is == dynamic {
		t, known := typeOf(r.typed, r.beside)
		if is = strange; known {
			is = kindOf(t)
		}
		if is == strange || is == dynamic {
			r.fail()
			return
		}
		one, outer := reflect.New(t), r.named
		r.named = outer || r.naming
		r.plain(is, full, one.Elem())
		r.named = outer
		switch {
		case r.failed:
		case t.Implements(into.Type()):
			into.Set(one.Elem())
		case one.Type().Implements(into.Type()):
			into.Set(one)
		default:
			r.fail()
		}
		return
	}
	r.plain(is, full, into)
}

// plain reads a value of a known type.
func (r *reader) plain(is kind, full string, into reflect.Value) {
	if is != reference && r.kind != "" {
		r.fail()
		return
	}
	if is == structure {
		if r.single {
			return
		}
		r.fields(into)
		if r.full != full {
			r.fail()
		}
		return
	}
	kind := r.kind
	content := r.content(full)
	if r.failed {
		return
	}
	var err error
	switch is {
	case text:
		into.SetString(strings.Clone(content)) // and not the whole message
	case flag:
		var is bool
		is, err = strconv.ParseBool(content)
		into.SetBool(is)
	case number:
		var n int64
		n, err = strconv.ParseInt(content, 10, into.Type().Bits())
		into.SetInt(n)
	case instant:
		var at time.Time
		at, err = time.Parse(time.RFC3339, content)
		into.Set(reflect.ValueOf(at))
	case reference:
		into.Set(reflect.ValueOf(types.ManagedObjectReference{Type: strings.Clone(kind), Value: strings.Clone(content)}))
	default:
		r.fail()
	}
	if err != nil {
		r.fail()
	}
}

// content is the text of an element after its tag.
func (r *reader) content(full string) string {
	if r.single {
		return ""
	}
	from := r.at
	length := strings.IndexByte(r.text[from:], '<')
	if length < 0 {
		r.fail()
		return ""
	}
	r.at = from + length
	if r.tag(); !r.end || r.full != full {
		r.fail()
		return ""
	}
	return r.unescape(r.text[from : from+length])
}

var entities = strings.NewReplacer("&amp;", "&", "&lt;", "<", "&gt;", ">", "&quot;", `"`, "&apos;", "'", "&#34;", `"`, "&#39;", "'", "&#x9;", "\t", "&#xA;", "\n")

// unescape replaces common entities, and fails on others.
func (r *reader) unescape(s string) string {
	if !strings.ContainsAny(s, "&]") && !strings.ContainsFunc(s, illegal) {
		return s
	}
	out := entities.Replace(s)
	if strings.Count(s, "&") != entitiesIn(s) || strings.Contains(s, "]]>") || strings.ContainsFunc(s, illegal) {
		r.fail()
	}
	return out
}

// illegal reports a character that XML does not allow.
func illegal(c rune) bool {
	return c < ' ' && c != '\t' && c != '\n' || c == '\uFFFE' || c == '\uFFFF'
}

// entitiesIn counts the entities that unescape knows.
func entitiesIn(s string) (n int) {
	for _, e := range []string{"&amp;", "&lt;", "&gt;", "&quot;", "&apos;", "&#34;", "&#39;", "&#x9;", "&#xA;"} {
		n += strings.Count(s, e)
	}
	return n
}
