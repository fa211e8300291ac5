package measure

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"
)

// most is beyond any measurement, and small enough for sums of its squares.
const most = 1e100

// measurable reports whether a number can be a measurement.
func measurable(v float64) bool { return math.Abs(v) <= most }

// Plausible returns an error for numbers in a record that no measurement yields, so that
// nothing computed from a foreign record overflows. The error names the field.
func (r *Record) Plausible() error { return plausible(reflect.ValueOf(r).Elem(), "") }

// plausible checks a value and its fields recursively.
func plausible(v reflect.Value, path string) error {
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
			return plausible(v.Elem(), path)
		}
	case reflect.Slice:
		for i := range v.Len() {
			if err := plausible(v.Index(i), fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			if err := plausible(v.MapIndex(key), fmt.Sprintf("%s[%q]", path, key.String())); err != nil {
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
		if err := plausible(v.Field(i), name); err != nil {
			return err
		}
	}
	return nil
}
