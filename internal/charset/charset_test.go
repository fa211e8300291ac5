package charset

import (
	"regexp"
	"testing"
)

// Names and sets are those of the regular expressions that say the same.
func FuzzName(f *testing.F) {
	name := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.-]{0,62}$`)
	hex := regexp.MustCompile(`^[0-9a-f]+$`)
	for _, text := range []string{"", "a", "-a", "a-", "web.1", "a\n", "ä", "a b", "0f", "0F", "a\xff", "123456789012345678901234567890123456789012345678901234567890123", "1234567890123456789012345678901234567890123456789012345678901234"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got, want := Name(text, ".-", 63), name.MatchString(text); got != want {
			t.Errorf("%q is a name: %v, want %v", text, got, want)
		}
		if got, want := Only(text, Hex), hex.MatchString(text); got != want {
			t.Errorf("%q is hexadecimal: %v, want %v", text, got, want)
		}
	})
}
