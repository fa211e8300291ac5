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

// kind is the encoding of a value.
type kind uint8

const (
	strange kind = iota // left to the general parser
	text
	flag
	number
	instant
	reference
	structure
	dynamic // the message contains the type
)

// field is an element of a structure.
type field struct {
	name  string
	index []int
	empty bool // omitted if empty
	many  bool // a list
	typed bool // the value has a type attribute
	is    kind
}

// plan is the elements of a structure.
type plan struct {
	list  []field
	by    map[string]int
	plain bool // attributes and text, if any, are known
}

var (
	plans         sync.Map // by type; never invalid
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
	e.is, e.typed = kindOf(t), strings.Contains(f.Tag.Get("xml"), "typeattr")
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
		if t.Kind() == reflect.Interface {
			break
		}
		if t.Implements(s) || reflect.PointerTo(t).Implements(s) {
			return strange
		}
	}
	switch t.Kind() {
	case reflect.Interface:
		return dynamic
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

const schema = "http://www.w3.org/2001/XMLSchema-instance"

// simple are the types of XML Schema.
var simple = map[string]reflect.Type{
	"boolean": reflect.TypeFor[bool](), "byte": reflect.TypeFor[int8](), "short": reflect.TypeFor[int16](), "int": reflect.TypeFor[int32](),
	"long": reflect.TypeFor[int64](), "string": reflect.TypeFor[string](), "dateTime": timeType,
}

// typeOf is the type with a name in a message, also one of storage policies if beside is set.
func typeOf(name string, beside bool) (reflect.Type, bool) {
	short := strings.TrimPrefix(name, "xsd:")
	if short == name {
		short = strings.TrimPrefix(name, "xs:")
	}
	if t, is := simple[short]; is {
		return t, true
	}
	t, is := types.TypeFunc()(name)
	if !is && beside {
		t, is = types.TypeFunc()("pbm:" + name)
	}
	return t, is
}

// nameOf is the name of a type in a message; empty if it has none.
func nameOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "xsd:boolean"
	case reflect.Int8:
		return "xsd:byte"
	case reflect.Int16:
		return "xsd:short"
	case reflect.Int32:
		return "xsd:int"
	case reflect.Int, reflect.Int64:
		return "xsd:long"
	case reflect.String:
		if t.Name() == "string" {
			return "xsd:string"
		}
		return t.Name()
	case reflect.Struct:
		if t == timeType {
			return "xsd:dateTime"
		}
		return t.Name()
	}
	return ""
}
