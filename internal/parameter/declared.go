package parameter

import (
	"fmt"
	"reflect"
	"slices"
)

// declaration is a field of a struct that can be set, or that a struct within lends it.
type declaration struct {
	reflect.StructField // its Index is that in the outermost struct
	name, doc           string
}

// leftOut is the tag of an embedding that leaves out a field.
const leftOut = "-"

// declared are what can be set in a struct, in order.
func declared(t reflect.Type) (all []declaration) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			all = append(all, promoted(f)...)
			continue
		}
		d := declaration{f, f.Tag.Get("name"), f.Tag.Get("doc")}
		if d.name == "" {
			panic(fmt.Sprintf("parameter: field %s.%s has no name tag", t, f.Name))
		}
		all = append(all, d)
	}
	return all
}

// promoted are the fields of an embedded struct.
func promoted(embedded reflect.StructField) (all []declaration) {
	for _, d := range declared(embedded.Type) {
		d.Index = slices.Concat(embedded.Index, d.Index)
		if doc, given := embedded.Tag.Lookup(d.name); given {
			d.doc = doc
		}
		if d.doc != leftOut {
			all = append(all, d)
		}
	}
	return all
}
