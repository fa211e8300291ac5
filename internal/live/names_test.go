package live

import (
	"slices"
	"testing"
)

func TestUnique(t *testing.T) {
	for _, c := range []struct{ names, want []string }{
		{nil, nil},
		{[]string{"a", "b"}, []string{"a", "b"}},
		{[]string{"web", "db", "web"}, []string{"web (vm-0)", "db", "web (vm-2)"}},
		{[]string{"web", "web (vm-0)", "web"}, []string{"web (vm-0) (vm-0)", "web (vm-0) (vm-1)", "web (vm-2)"}},
	} {
		ids := []string{"vm-0", "vm-1", "vm-2"}[:len(c.names)]
		if got := Unique(c.names, ids); !slices.Equal(got, c.want) {
			t.Errorf("Unique(%q) = %q, want %q", c.names, got, c.want)
		}
	}
}
