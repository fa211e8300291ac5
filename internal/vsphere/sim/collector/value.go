package collector

import (
	"errors"
	"path"
	"reflect"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// errMissing is returned for a property that a type does not have.
var errMissing = errors.New("no such property")

// managed is the managed object wrapped by an object of the simulator: the first field, or its
// first field.
func managed(of mo.Reference) (reflect.Value, bool) {
	if live, ok := of.(interface{ Get() mo.Reference }); ok { // objects with computed properties
		of = live.Get()
	}
	v := reflect.ValueOf(of)
	for {
		for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
			if v.IsNil() {
				return v, false
			}
			v = v.Elem()
		}
		if path.Base(v.Type().PkgPath()) == "mo" {
			return v, true
		}
		if v.Kind() != reflect.Struct || v.NumField() == 0 {
			return v, false
		}
		v = v.Field(0)
	}
}

// property is the value at a path such as config.hardware or config.extraConfig["a"].value, in
// the form of replies; nil if it is unset.
func property(of reflect.Value, name string) (types.AnyType, error) {
	var f mo.Field
	if !f.FromString(name) {
		return nil, errMissing
	}
	v, err := field(of, f.Path)
	if err != nil || !v.IsValid() {
		return nil, err
	}
	if f.Key == nil {
		return wrapped(v), nil
	}
	return keyed(v, f)
}

// field follows a path. The value is invalid if something on the path is unset.
func field(v reflect.Value, name string) (reflect.Value, error) {
	for name != "" {
		var part string
		part, name, _ = strings.Cut(name, ".")
		for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
			if v.IsNil() {
				return reflect.Value{}, nil
			}
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct || part == "" {
			return reflect.Value{}, errMissing
		}
		next := v.FieldByName(strings.ToUpper(part[:1]) + part[1:])
		if !next.IsValid() {
			return reflect.Value{}, errMissing
		}
		v = next
	}
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return reflect.Value{}, nil
		}
		if v.Kind() == reflect.Interface || v.Elem().Kind() == reflect.Struct && v.Elem().NumField() > 0 {
			break
		}
		v = v.Elem()
	}
	if v.Kind() == reflect.String && v.Len() == 0 {
		return reflect.Value{}, nil
	}
	return v, nil
}

// keyed is the list entry with a key, or a part of it.
func keyed(v reflect.Value, f mo.Field) (types.AnyType, error) {
	if v.Kind() != reflect.Slice {
		return nil, errMissing
	}
	for i := range v.Len() {
		item := v.Index(i)
		for item.Kind() == reflect.Interface || item.Kind() == reflect.Pointer {
			item = item.Elem()
		}
		if item.Kind() != reflect.Struct {
			return nil, errMissing
		}
		key := item.FieldByName("Key")
		if !key.IsValid() {
			return nil, errMissing
		}
		if key.Interface() != f.Key {
			continue
		}
		if f.Item == "" {
			return item.Interface(), nil
		}
		part, err := field(item, f.Item)
		if err != nil || !part.IsValid() {
			return nil, err
		}
		return wrapped(part), nil
	}
	return nil, nil
}

var typeOf = types.TypeFunc()

// wrapped is a value in the form of replies, in which lists are structures.
func wrapped(v reflect.Value) types.AnyType {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Slice {
		return v.Interface()
	}
	kind := ""
	switch e := v.Type().Elem(); e.Kind() {
	case reflect.Uint8:
		kind = "Byte"
	case reflect.Int16:
		kind = "Short"
	case reflect.Int32:
		kind = "Int"
	case reflect.Int64:
		kind = "Long"
	case reflect.String:
		kind = "String"
		if e.Name() != "string" {
			kind = e.Name()
		}
	default:
		kind = strings.TrimPrefix(e.Name(), "Base")
	}
	list, ok := typeOf("ArrayOf" + kind)
	if !ok {
		return v.Interface()
	}
	made := reflect.New(list)
	into := made.Elem().FieldByName(kind)
	if !into.IsValid() || !v.Type().ConvertibleTo(into.Type()) {
		return v.Interface()
	}
	into.Set(v.Convert(into.Type()))
	return made.Interface()
}

// every calls a function for each set property.
func every(v reflect.Value, each func(name string, value types.AnyType)) {
	for i := range v.NumField() {
		f, is := v.Type().Field(i), v.Field(i)
		if f.Anonymous {
			every(is, each)
			continue
		}
		if f.Name == "Self" || !f.IsExported() || is.Kind() == reflect.String && is.Len() == 0 {
			continue
		}
		if (is.Kind() == reflect.Pointer || is.Kind() == reflect.Interface) && is.IsNil() {
			continue
		}
		each(strings.ToLower(f.Name[:1])+f.Name[1:], wrapped(is))
	}
}

// is reports whether an object is of a type or of one derived from it.
func is(v reflect.Value, ref types.ManagedObjectReference, kind string) bool {
	if kind == ref.Type || kind == v.Type().Name() {
		return true
	}
	f, ok := v.Type().FieldByName(kind)
	return ok && f.Anonymous
}

// references are those in a value.
func references(v reflect.Value) []types.ManagedObjectReference {
	if !v.IsValid() {
		return nil
	}
	switch r := v.Interface().(type) {
	case types.ManagedObjectReference:
		return []types.ManagedObjectReference{r}
	case *types.ManagedObjectReference:
		return []types.ManagedObjectReference{*r}
	case []types.ManagedObjectReference:
		return r
	}
	return nil
}
