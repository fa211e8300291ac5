package vsphere_test

import (
	"strings"
	"testing"

	"plimsoll/internal/vsphere/config"
)

func TestNames(t *testing.T) {
	for plain, escaped := range map[string]string{
		"web": "web", "a/b": "a%2fb", `a\b`: "a%5cb", "100%": "100%25", "a%2fb": "a%252fb", "%25": "%2525", "%41": "%2541", "/": "%2f",
	} {
		if got := config.Escape(plain); got != escaped {
			t.Errorf("%q is escaped as %q, want %q", plain, got, escaped)
		}
	}
	for escaped, plain := range map[string]string{"a%2Fb": "a/b", "a%5Cb": `a\b`, "a%41b": "a%41b", "a%": "a%", "%2525": "%25"} {
		if got := config.Plain(escaped); got != plain {
			t.Errorf("%q is read as %q, want %q", escaped, got, plain)
		}
	}
}

// Each name comes back, and none that is escaped has a slash.
func FuzzNames(f *testing.F) {
	f.Add("a/b%2f\\%")
	f.Fuzz(func(t *testing.T, name string) {
		escaped := config.Escape(name)
		if config.Plain(escaped) != name || strings.ContainsAny(escaped, `/\`) {
			t.Errorf("%q is escaped as %q and read as %q", name, escaped, config.Plain(escaped))
		}
		if again := config.Escape(config.Plain(escaped)); again != escaped {
			t.Errorf("%q is written as %q again", escaped, again)
		}
	})
}
