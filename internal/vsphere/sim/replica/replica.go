// Package replica copies values of vSphere's types: nothing of a replica is shared with what it was made from.
package replica

import (
	"reflect"
	"time"
)

// Of is a deep copy of a value.
func Of[T any](of T) T { return Renamed(of, nil) }

// Renamed is a deep copy of a value in which each text is replaced by what rename makes of it.
func Renamed[T any](of T, rename func(string) string) T {
	var made T
	copyTo(reflect.ValueOf(&made).Elem(), reflect.ValueOf(&of).Elem(), rename)
	return made
}

var timeType = reflect.TypeFor[time.Time]()

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
		made := reflect.New(from.Elem().Type()).Elem()
		copyTo(made, from.Elem(), rename)
		to.Set(made)
	case reflect.Slice:
		copySlice(to, from, rename)
	case reflect.Struct:
		copyStruct(to, from, rename)
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
	if flat(from.Type().Elem().Kind()) {
		reflect.Copy(made, from)
	} else {
		for i := range from.Len() {
			copyTo(made.Index(i), from.Index(i), rename)
		}
	}
	to.Set(made)
}

// copyStruct copies the exported fields. vSphere's types have no others, except times, which never change.
func copyStruct(to, from reflect.Value, rename func(string) string) {
	to.Set(from)
	if from.Type() == timeType {
		return
	}
	for i := range from.NumField() {
		field := from.Field(i)
		if from.Type().Field(i).IsExported() && !flat(field.Kind()) && (rename != nil || field.Kind() != reflect.String) {
			copyTo(to.Field(i), field, rename)
		}
	}
}

// flat reports whether values of a kind refer to nothing that can change.
func flat(k reflect.Kind) bool {
	return k >= reflect.Bool && k <= reflect.Complex128 && k != reflect.Uintptr
}
