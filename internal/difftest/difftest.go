// Package difftest shows failing tests in what two values differ.
package difftest

import (
	"fmt"
	"reflect"
	"strings"
)

// most is how many differences are shown.
const most = 20

// Lines are the places at which two values of one type differ, a line each, such as "Moves[3].To: 7, want 9". It is empty where
// reflect.DeepEqual holds.
func Lines(got, want any) string {
	if reflect.DeepEqual(got, want) {
		return ""
	}
	w := walk{}
	w.compare("", reflect.ValueOf(got), reflect.ValueOf(want))
	if len(w.lines) == 0 { // in what the walk does not see, such as pointers in circles
		return fmt.Sprintf("%+v, want %+v", got, want)
	}
	if more := len(w.lines) - most; more > 0 {
		w.lines = append(w.lines[:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(w.lines, "\n")
}

type pair struct{ a, b uintptr }

type walk struct {
	lines []string
	seen  map[pair]bool // pointers that were followed
}

func (w *walk) differ(at string, got, want any) {
	w.lines = append(w.lines, fmt.Sprintf("%s: %v, want %v", strings.TrimPrefix(at, "."), got, want))
}

func (w *walk) compare(at string, got, want reflect.Value) {
	switch {
	case !got.IsValid() || !want.IsValid() || got.Type() != want.Type():
		if got.IsValid() || want.IsValid() {
			w.differ(at, got, want)
		}
		return
	case got.Kind() == reflect.Struct:
		for i := range got.NumField() {
			w.compare(at+"."+got.Type().Field(i).Name, got.Field(i), want.Field(i))
		}
	case got.Kind() == reflect.Slice || got.Kind() == reflect.Array:
		w.elements(at, got, want)
	case got.Kind() == reflect.Map:
		w.entries(at, got, want)
	case got.Kind() == reflect.Pointer || got.Kind() == reflect.Interface:
		w.follow(at, got, want)
	case !got.Equal(want): // functions are never equal, unless nil
		w.differ(at, got, want)
	}
}

func (w *walk) elements(at string, got, want reflect.Value) {
	if got.Len() != want.Len() {
		w.differ(at, fmt.Sprintf("%d elements", got.Len()), want.Len())
	}
	for i := range min(got.Len(), want.Len()) {
		w.compare(fmt.Sprintf("%s[%d]", at, i), got.Index(i), want.Index(i))
	}
}

func (w *walk) entries(at string, got, want reflect.Value) {
	for _, key := range want.MapKeys() {
		w.compare(fmt.Sprintf("%s[%v]", at, key), got.MapIndex(key), want.MapIndex(key))
	}
	for _, key := range got.MapKeys() {
		if !want.MapIndex(key).IsValid() {
			w.differ(fmt.Sprintf("%s[%v]", at, key), got.MapIndex(key), "nothing")
		}
	}
}

func (w *walk) follow(at string, got, want reflect.Value) {
	if got.IsNil() || want.IsNil() {
		if got.IsNil() != want.IsNil() {
			w.differ(at, got, want)
		}
		return
	}
	if got.Kind() == reflect.Pointer {
		p := pair{got.Pointer(), want.Pointer()}
		if p.a == p.b || w.seen[p] {
			return
		}
		if w.seen == nil {
			w.seen = map[pair]bool{}
		}
		w.seen[p] = true
	}
	w.compare(at, got.Elem(), want.Elem())
}
