// Package parametertest holds what all settings must fulfil, for the conformance suites of
// what takes settings.
package parametertest

import (
	"errors"
	"testing"

	"plimsoll/internal/parameter"
)

// Check wants each field to have a doc and a default in canonical form, build to take the
// defaults, and an unknown name to be refused as such.
func Check[T any](t *testing.T, defaults any, build func(parameter.Settings) (T, error)) {
	t.Helper()
	for _, f := range parameter.Fields(defaults) {
		if f.Doc == "" {
			t.Errorf("%s has no doc", f.Name)
		}
		if f.Default == "" {
			continue
		}
		if again, err := f.Check(f.Default); err != nil || again != f.Default {
			t.Errorf("%s: the default %q is read as %q, %v", f.Name, f.Default, again, err)
		}
	}
	if _, err := build(nil); err != nil {
		t.Errorf("the defaults are refused: %v", err)
	}
	var unknown *parameter.UnknownError
	if _, err := build(parameter.Settings{"no such setting": "1"}); !errors.As(err, &unknown) {
		t.Errorf("an unknown setting gives %v", err)
	}
}

// Name names a test of settings.
func Name(s parameter.Settings) string {
	text := ""
	for k, v := range s {
		text = max(text, k+"="+v)
	}
	if text == "" {
		return "defaults"
	}
	return text
}
