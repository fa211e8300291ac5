package platformtest

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/factor"
	"plimsoll/internal/platform"
)

// SetAndReadBack brings a machine to levels of several factors, and reads each of them back.
func SetAndReadBack(t *testing.T, m platform.Machine, all []factor.Factor, levels map[string]string) {
	t.Helper()
	at := factor.Env{Machine: m}
	varied := slices.DeleteFunc(slices.Clone(all), func(f factor.Factor) bool { return levels[f.Name] == "" })
	if len(varied) != len(levels) {
		t.Fatalf("of %v only %d are factors", levels, len(varied))
	}
	for _, f := range varied {
		if err := f.Set(t.Context(), at, levels[f.Name]); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range varied {
		want, err := f.Check(t.Context(), at, levels[f.Name])
		if err != nil {
			t.Fatal(err)
		}
		if got, err := f.Get(t.Context(), at); err != nil || got != want {
			t.Errorf("%s at %s is read back as %q, %v; want %q", f.Name, levels[f.Name], got, err, want)
		}
	}
}

// Do runs a command, which must succeed, and returns its trimmed output.
func Do(t *testing.T, m platform.Machine, argv ...string) string {
	t.Helper()
	r, err := m.Run(t.Context(), platform.Command{Argv: argv})
	if err != nil || r.Exit != 0 {
		t.Fatalf("%q: %v, exit status %d: %s", argv, err, r.Exit, r.Stderr)
	}
	return strings.TrimSpace(string(r.Stdout))
}
