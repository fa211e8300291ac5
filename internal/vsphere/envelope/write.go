package envelope

import (
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/vmware/govmomi/vim25/types"
)

// writer encodes a message. It is not ok once a general encoder is needed.
type writer struct {
	text []byte
	ok   bool
}

func (w *writer) add(parts ...string) {
	for _, p := range parts {
		w.text = append(w.text, p...)
	}
}

// fields writes the elements of a structure.
func (w *writer) fields(v reflect.Value) {
	p := planOf(v.Type())
	w.ok = w.ok && p.plain
	for i := range p.list {
		if !w.ok {
			return
		}
		f := &p.list[i]
		is := v.FieldByIndex(f.index)
		switch {
		case f.empty && empty(is) || is.Kind() == reflect.Interface && is.IsNil():
		case f.many:
			for k := range is.Len() {
				w.element(f, is.Index(k))
			}
		case is.Kind() == reflect.Pointer:
			if !is.IsNil() {
				w.element(f, is.Elem())
			}
		default:
			w.element(f, is)
		}
	}
}

// empty reports whether omitempty omits a value.
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

func (w *writer) element(f *field, v reflect.Value) {
	is, kind := f.is, ""
	if is == dynamic {
		for k := v.Kind(); (k == reflect.Interface || k == reflect.Pointer) && !v.IsNil(); k = v.Kind() {
			v = v.Elem()
		}
		is, kind = kindOf(v.Type()), nameOf(v.Type())
		w.ok = w.ok && f.typed && kind != "" && is != dynamic
	}
	if v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		w.ok = false
	}
	if !w.ok {
		return
	}
	w.add("<", f.name)
	if is == reference {
		w.add(` type="`)
		w.escape(v.Interface().(types.ManagedObjectReference).Type)
		w.add(`"`)
	}
	if kind != "" {
		w.add(` xsi:type="`, kind, `"`)
	}
	w.content(is, v)
	w.add("</", f.name, ">")
}

// content writes a value after the name of its element.
func (w *writer) content(is kind, v reflect.Value) {
	switch is {
	case text:
		w.add(">")
		w.escape(v.String())
	case flag:
		w.add(">")
		w.text = strconv.AppendBool(w.text, v.Bool())
	case number:
		w.add(">")
		w.text = strconv.AppendInt(w.text, v.Int(), 10)
	case instant:
		w.add(">")
		w.text = v.Interface().(time.Time).AppendFormat(w.text, time.RFC3339Nano)
	case reference:
		ref := v.Interface().(types.ManagedObjectReference)
		w.ok = w.ok && ref.ServerGUID == ""
		w.add(">")
		w.escape(ref.Value)
	case structure:
		w.add(">")
		w.fields(v)
	default:
		w.ok = false
	}
}

var escapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;", "\t", "&#x9;", "\n", "&#xA;", "\r", "&#xD;")

// escape writes a text. Characters that XML does not allow are left to the general encoder.
func (w *writer) escape(s string) {
	plain := true
	for _, c := range []byte(s) {
		if c < 0x20 && c != '\t' && c != '\n' && c != '\r' {
			w.ok = false
			return
		}
		plain = plain && c >= 0x20 && c < utf8.RuneSelf && c != '&' && c != '<' && c != '>' && c != '"' && c != '\''
	}
	if plain {
		w.add(s)
		return
	}
	if !utf8.ValidString(s) || strings.ContainsAny(s, "\uFFFE\uFFFF") {
		w.ok = false
		return
	}
	w.add(escapes.Replace(s))
}
