// Package parameter holds the named, typed settings that a study may give to
// a workload, a platform or a service.
//
// What one can set is declared once, as the fields of a struct whose value
// holds the defaults. From it follow strict decoding, the levels that a factor
// may take, the JSON Schema, the manual page and the template of a new study.
// A field carries two tags, and others for what it allows and which values are unsafe:
//
//	Threads int `name:"threads" doc:"workers on each disk" min:"1" max:"1024"`
//	Engine  string `name:"engine" doc:"fio I/O engine" choices:"psync,libaio"`
//	Fsync   bool   `name:"fsync" doc:"fsync data; off, a crash can lose it" unsafe:"false"`
//
// A struct that is embedded lends its fields. A tag of the embedding that has the name of
// one of these is its doc instead, or leaves it out:
//
//	Access `user:"user name at the servers" database:"-"`
//
// Settings travel as text, exactly as a person would write them, so that a
// level in a study, in a record and in a report is the same string.
package parameter

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Settings are the values that a study gives, by field name. A list is written
// as a JSON array of strings.
type Settings map[string]string

// Field describes one thing that can be set.
type Field struct {
	Name    string   // as written in a study
	Doc     string   // one phrase, lower case
	Kind    Kind     // how its text is read
	Default string   // canonical text; empty where there is no default
	Min     string   // smallest value, in the field's own notation; empty when open
	Max     string   // largest value; empty when open
	Choices []string // the only values allowed; nil when open
	Unsafe  string   // the values that can lose data or weaken security; see IsUnsafe
}

// IsUnsafe reports whether a value can lose data or weaken security: fsync off, TLS off. Doc says
// what it risks. Unsafe lists these values, separated by commas; after a "!" it lists the safe ones.
func (f Field) IsUnsafe(value string) bool {
	safe, except := strings.CutPrefix(f.Unsafe, "!")
	return f.Unsafe != "" && slices.Contains(strings.Split(safe, ","), value) != except
}

// Kind says how the text of a field is read.
type Kind string

// The kinds of field, each with the notation it takes in a study.
const (
	KindInteger  Kind = "integer"  // 8
	KindNumber   Kind = "number"   // 0.75
	KindText     Kind = "text"     // any text
	KindSwitch   Kind = "switch"   // true or false
	KindBytes    Kind = "bytes"    // 4KiB, 512MiB, 1GB
	KindShare    Kind = "share"    // 70%
	KindRate     Kind = "rate"     // 5000/s
	KindDuration Kind = "duration" // 250ms, 10s, 5m
	KindList     Kind = "list"     // a list of texts
)

// valueError reports a text that a field cannot take.
type valueError struct {
	Field Field
	Text  string
	Want  string // what would be accepted, as a phrase
}

// Error names the field, the text and what would be accepted.
func (e *valueError) Error() string {
	return fmt.Sprintf("%s: %q is not %s", e.Field.Name, e.Text, e.Want)
}

// UnknownError reports a name that nothing carries.
type UnknownError struct {
	Name    string
	Nearest string   // the closest known name; empty when nothing is close
	Known   []string // all known names, in declared order
}

// Error names the nearest known name or, where none is near, all of them.
func (e *UnknownError) Error() string {
	if e.Nearest != "" {
		return fmt.Sprintf("unknown key %q; did you mean %q?", e.Name, e.Nearest)
	}
	return fmt.Sprintf("unknown key %q; known: %s", e.Name, strings.Join(e.Known, ", "))
}

// Fields lists the fields of defaults, a struct or a pointer to one, in
// declared order. It panics on a struct that is not declared as the package
// comment says, because that is a mistake in the program.
func Fields(defaults any) []Field {
	v := structOf(defaults)
	var fields []Field
	for _, d := range declared(v.Type()) {
		f := Field{Name: d.name, Doc: d.doc, Kind: kindOf(d.Type), Min: d.Tag.Get("min"), Max: d.Tag.Get("max"), Unsafe: d.Tag.Get("unsafe")}
		if c := d.Tag.Get("choices"); c != "" {
			f.Choices = strings.Split(c, ",")
		}
		f.Default = text(v.FieldByIndex(d.Index))
		fields = append(fields, f)
	}
	return fields
}

// Find is the field of a name in defaults.
func Find(defaults any, name string) (Field, bool) {
	fields := Fields(defaults)
	if i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == name }); i >= 0 {
		return fields[i], true
	}
	return Field{}, false
}

// Names are those of fields.
func Names(fields []Field) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	return names
}

// Decode fills target, a pointer to a struct that holds the defaults, with
// settings. Its errors are *UnknownError and *ValueError.
func Decode(target any, settings Settings) error {
	v := structOf(target)
	fields, places := Fields(target), declared(v.Type())
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == name })
		if i < 0 {
			return unknown(name, fields)
		}
		if err := set(v.FieldByIndex(places[i].Index), fields[i], settings[name]); err != nil {
			return err
		}
	}
	return nil
}

// Check reports whether text is a value that the field can take, and returns its
// canonical form. Its error is a *ValueError.
func (f Field) Check(text string) (string, error) {
	v := reflect.New(typeOf(f.Kind)).Elem()
	if err := set(v, f, text); err != nil {
		return "", err
	}
	return canonical(v), nil
}

// unknown returns the error for a name that none of the fields carries.
func unknown(name string, fields []Field) *UnknownError {
	known := Names(fields)
	return &UnknownError{Name: name, Nearest: Nearest(name, known), Known: known}
}

func structOf(value any) reflect.Value {
	v := reflect.ValueOf(value)
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		panic(fmt.Sprintf("parameter: %T is not a struct", value))
	}
	return v
}

var kinds = map[reflect.Type]Kind{
	reflect.TypeFor[int]():      KindInteger,
	reflect.TypeFor[float64]():  KindNumber,
	reflect.TypeFor[string]():   KindText,
	reflect.TypeFor[bool]():     KindSwitch,
	reflect.TypeFor[Bytes]():    KindBytes,
	reflect.TypeFor[Share]():    KindShare,
	reflect.TypeFor[Rate]():     KindRate,
	reflect.TypeFor[Duration](): KindDuration,
	reflect.TypeFor[[]string](): KindList,
}

func kindOf(t reflect.Type) Kind {
	k, ok := kinds[t]
	if !ok {
		panic(fmt.Sprintf("parameter: no kind for type %s", t))
	}
	return k
}

func typeOf(k Kind) reflect.Type {
	for t, kind := range kinds {
		if kind == k {
			return t
		}
	}
	panic(fmt.Sprintf("parameter: no type for kind %q", k))
}

// text is the canonical text of a default, where the zero value of a text, a
// list, a rate or a duration means that there is none.
func text(v reflect.Value) string {
	if v.IsZero() && (v.Kind() == reflect.String || v.Kind() == reflect.Slice || v.Type() == reflect.TypeFor[Rate]() || v.Type() == reflect.TypeFor[Duration]()) {
		return ""
	}
	return canonical(v)
}

func canonical(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case fmt.Stringer:
		return x.String()
	case int:
		return strconv.Itoa(x)
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	case string:
		return x
	case bool:
		return strconv.FormatBool(x)
	case []string:
		return List(x)
	}
	panic(fmt.Sprintf("parameter: no text for %s", v.Type()))
}

// List is the text of a list in Settings.
func List(items []string) string {
	b, err := json.Marshal(items)
	if err != nil {
		panic(err) // a slice of strings always encodes
	}
	return string(b)
}

func set(v reflect.Value, f Field, text string) error {
	bad := func(want string) error { return &valueError{Field: f, Text: text, Want: want} }
	if !utf8.ValidString(text) {
		return bad("valid UTF-8")
	}
	if f.Choices != nil && !slices.Contains(f.Choices, text) {
		return bad("one of " + strings.Join(f.Choices, ", "))
	}
	switch p := v.Addr().Interface().(type) {
	case encoding.TextUnmarshaler:
		if err := p.UnmarshalText([]byte(text)); err != nil {
			return bad(err.Error())
		}
	case *int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return bad("a whole number, like 8")
		}
		*p = n
	case *float64:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || n != n || n-n != 0 {
			return bad("a number, like 0.75")
		}
		*p = n
	case *string:
		*p = text
	case *bool:
		if text != "true" && text != "false" {
			return bad("true or false")
		}
		*p = text == "true"
	case *[]string:
		items := []string{text}
		if strings.HasPrefix(text, "[") {
			items = nil
			if err := json.Unmarshal([]byte(text), &items); err != nil {
				return bad("a list of texts")
			}
		}
		*p = items
	}
	return bounds(v, f, text)
}

func bounds(v reflect.Value, f Field, text string) error {
	compare := func(limit string) int {
		w := reflect.New(v.Type()).Elem()
		if err := set(w, Field{Name: f.Name, Kind: f.Kind}, limit); err != nil {
			panic(fmt.Sprintf("parameter: limit of %s: %v", f.Name, err))
		}
		if v.CanInt() {
			return cmp.Compare(v.Int(), w.Int())
		}
		return cmp.Compare(v.Float(), w.Float())
	}
	if f.Min != "" && compare(f.Min) < 0 {
		return &valueError{Field: f, Text: text, Want: "at least " + f.Min}
	}
	if f.Max != "" && compare(f.Max) > 0 {
		return &valueError{Field: f, Text: text, Want: "at most " + f.Max}
	}
	return nil
}
