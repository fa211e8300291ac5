package measure

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"
)

// most is more than anything that is measured, and small enough for sums of its squares.
const most = 1e100

// measurable reports whether a number can be one that was measured.
func measurable(v float64) bool { return math.Abs(v) <= most }

// Plausible looks for numbers in a record that no measurement yields: a record may come from
// elsewhere, and what is judged by must not overflow. The error names the field.
func (r *Record) Plausible() error { return sound(reflect.ValueOf(r).Elem(), "") }

// sound walks through a value and its parts.
func sound(v reflect.Value, path string) error {
	switch v.Kind() {
	case reflect.Float64:
		if !measurable(v.Float()) {
			return fmt.Errorf("%s is %g, which is not a possible measurement", path, v.Float())
		}
	case reflect.Int, reflect.Int64:
		if v.Int() < 0 {
			return fmt.Errorf("%s is %d, and cannot be negative", path, v.Int())
		}
	case reflect.Pointer:
		if !v.IsNil() {
			return sound(v.Elem(), path)
		}
	case reflect.Slice:
		for i := range v.Len() {
			if err := sound(v.Index(i), fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			if err := sound(v.MapIndex(key), fmt.Sprintf("%s[%q]", path, key.String())); err != nil {
				return err
			}
		}
	case reflect.Struct:
		return soundStruct(v, path)
	}
	return nil
}

func soundStruct(v reflect.Value, path string) error {
	if _, isTime := v.Interface().(time.Time); isTime {
		return nil
	}
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if path != "" {
			name = path + "." + name
		}
		if err := sound(v.Field(i), name); err != nil {
			return err
		}
	}
	return nil
}
