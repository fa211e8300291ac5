package factor_test

import (
	"strings"
	"testing"

	"plimsoll/internal/factor/vm"
)

func TestParametersAreReadBack(t *testing.T) {
	const line = "console=ttyS0 quiet mitigations=off plimsoll.name=guest mitigations=auto a=1\n"
	for _, c := range []struct{ asked, want string }{
		{"", "none"}, {"mitigations=auto a=1", "mitigations=auto a=1"}, {"a=1 mitigations=auto", "a=1 mitigations=auto"}, {"b=2 a=1", "a=1"}, {"b=2", "none"},
	} {
		if got := vm.ParametersIn(line, strings.Fields(c.asked)); got != c.want {
			t.Errorf("%q is read back as %q, want %q", c.asked, got, c.want)
		}
	}
}

func TestMemoryIsReadBack(t *testing.T) {
	for text, want := range map[string]string{"MemTotal:         223608 kB\n": "256MiB", "MemTotal: 524288 kB\n": "512MiB", "MemTotal: 100000 kB\n": "100000KiB"} {
		if got, err := vm.MemoryIn(text, 256<<20); err != nil || got != want {
			t.Errorf("%q is %s, %v; want %s", text, got, err, want)
		}
	}
	if _, err := vm.MemoryIn("nothing", 256<<20); err == nil {
		t.Error("nothing is a size")
	}
}
