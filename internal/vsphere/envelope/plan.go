package envelope

import (
	"encoding"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"
)

// kind is how a value stands in a message.
type kind uint8

const (
	strange kind = iota // left to the general reader
	text
	flag
	number
	instant
	reference
	structure
)

// field is an element of a structure.
type field struct {
	name  string
	index []int
	empty bool // left out where it is empty
	many  bool // a list
	is    kind
}

// plan is the elements of a structure.
type plan struct {
	list  []field
	by    map[string]int
	plain bool // all that is not an element is known
}

var (
	plans         sync.Map // by type; what types are never changes
	referenceType = reflect.TypeFor[types.ManagedObjectReference]()
	timeType      = reflect.TypeFor[time.Time]()
	special       = []reflect.Type{
		reflect.TypeFor[xml.Marshaler](), reflect.TypeFor[xml.Unmarshaler](), reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[encoding.TextUnmarshaler](),
	}
)

func planOf(t reflect.Type) *plan {
	if p, known := plans.Load(t); known {
		return p.(*plan)
	}
	p := &plan{by: map[string]int{}, plain: true}
	p.collect(t, nil)
	plans.Store(t, p)
	return p
}

func (p *plan) collect(t reflect.Type, at []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(append([]int(nil), at...), i)
		tag := f.Tag.Get("xml")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case tag == "-":
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct && kindOf(f.Type) == structure:
			p.collect(f.Type, index)
		case !f.IsExported() || f.Anonymous || name == "" || strings.ContainsAny(name, " >:") || strings.Contains(options, "attr") && !strings.Contains(options, "typeattr") || strings.Contains(options, "chardata") || strings.Contains(options, "innerxml"):
			p.plain = false
		default:
			if _, twice := p.by[name]; twice {
				p.plain = false
			}
			p.by[name] = len(p.list)
			p.list = append(p.list, element(f, name, strings.Contains(options, "omitempty"), index))
		}
	}
}

func element(f reflect.StructField, name string, empty bool, index []int) field {
	e := field{name: name, index: index, empty: empty}
	t := f.Type
	if t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 {
		e.many, t = true, t.Elem()
	} else if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	e.is = kindOf(t)
	return e
}

func kindOf(t reflect.Type) kind {
	switch t {
	case referenceType:
		return reference
	case timeType:
		return instant
	}
	for _, s := range special {
		if t.Implements(s) || reflect.PointerTo(t).Implements(s) {
			return strange
		}
	}
	switch t.Kind() {
	case reflect.String:
		return text
	case reflect.Bool:
		return flag
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return number
	case reflect.Struct:
		return structure
	}
	return strange
}
