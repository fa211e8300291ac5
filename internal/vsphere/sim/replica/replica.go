// Package replica makes deep copies of values of vSphere's types.
package replica

import (
	"reflect"
	"sync"
	"time"
)

// Of is a deep copy of a value.
func Of[T any](of T) T { return Renamed(of, nil) }

// Renamed is a deep copy of a value with a function applied to each text.
func Renamed[T any](of T, rename func(string) string) T {
	var made T
	copyTo(reflect.ValueOf(&made).Elem(), reflect.ValueOf(&of).Elem(), rename)
	return made
}

// Texts calls a function with each text in a value.
func Texts(of any, each func(string)) { visit(reflect.ValueOf(of), each) }

var timeType = reflect.TypeFor[time.Time]()

// parts are the fields of a structure that are not plain values.
type parts struct {
	all  []int // with texts
	deep []int // with mutable references
}

var known sync.Map // parts by type; never invalid

// partsOf are the parts of a type, without unexported fields: vSphere's types have none,
// except times, which are immutable.
func partsOf(t reflect.Type) *parts {
	if p, is := known.Load(t); is {
		return p.(*parts)
	}
	p := new(parts)
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && t != timeType {
			if holds(f.Type, true) {
				p.all = append(p.all, i)
			}
			if holds(f.Type, false) {
				p.deep = append(p.deep, i)
			}
		}
	}
	known.Store(t, p)
	return p
}

// holds reports whether values of a type contain mutable references, or texts.
func holds(t reflect.Type, texts bool) bool {
	switch k := t.Kind(); {
	case k == reflect.String:
		return texts
	case k == reflect.Array:
		return holds(t.Elem(), texts)
	case k == reflect.Struct:
		p := partsOf(t) // a structure contains itself only by a reference
		return len(p.deep) > 0 || texts && len(p.all) > 0
	default:
		return !flat(k)
	}
}

// copyTo sets to to a deep copy of from.
func copyTo(to, from reflect.Value, rename func(string) string) {
	switch from.Kind() {
	case reflect.String:
		if rename == nil {
			to.Set(from)
			return
		}
		to.SetString(rename(from.String()))
	case reflect.Pointer:
		if from.IsNil() {
			return
		}
		made := reflect.New(from.Type().Elem())
		copyTo(made.Elem(), from.Elem(), rename)
		to.Set(made)
	case reflect.Interface:
		if from.IsNil() {
			return
		}
		if !holds(from.Elem().Type(), rename != nil) {
			to.Set(from)
			return
		}
		made := reflect.New(from.Elem().Type()).Elem()
		copyTo(made, from.Elem(), rename)
		to.Set(made)
	case reflect.Slice:
		copySlice(to, from, rename)
	case reflect.Struct:
		to.Set(from)
		p := partsOf(from.Type())
		fields := p.deep
		if rename != nil {
			fields = p.all
		}
		for _, i := range fields {
			copyTo(to.Field(i), from.Field(i), rename)
		}
	case reflect.Array:
		for i := range from.Len() {
			copyTo(to.Index(i), from.Index(i), rename)
		}
	case reflect.Map:
		if from.IsNil() {
			return
		}
		to.Set(reflect.MakeMapWithSize(from.Type(), from.Len()))
		for entries := from.MapRange(); entries.Next(); {
			value := reflect.New(from.Type().Elem()).Elem()
			copyTo(value, entries.Value(), rename)
			to.SetMapIndex(entries.Key(), value)
		}
	default:
		to.Set(from)
	}
}

func copySlice(to, from reflect.Value, rename func(string) string) {
	if from.IsNil() {
		return
	}
	made := reflect.MakeSlice(from.Type(), from.Len(), from.Len())
	if !holds(from.Type().Elem(), rename != nil) {
		reflect.Copy(made, from)
	} else {
		for i := range from.Len() {
			copyTo(made.Index(i), from.Index(i), rename)
		}
	}
	to.Set(made)
}

// visit calls a function with each text.
func visit(v reflect.Value, each func(string)) {
	switch v.Kind() {
	case reflect.String:
		each(v.String())
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			visit(v.Elem(), each)
		}
	case reflect.Slice, reflect.Array:
		if holds(v.Type().Elem(), true) {
			for i := range v.Len() {
				visit(v.Index(i), each)
			}
		}
	case reflect.Struct:
		for _, i := range partsOf(v.Type()).all {
			visit(v.Field(i), each)
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			visit(entries.Value(), each)
		}
	}
}

// flat reports whether values of a kind have no mutable references.
func flat(k reflect.Kind) bool {
	return k >= reflect.Bool && k <= reflect.Complex128 && k != reflect.Uintptr
}
