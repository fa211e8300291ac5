package snapshot_test

import (
	"testing"

	"plimsoll/internal/cluster/snapshot/entry"
)

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"web-*", "web-1", true}, {"web-*", "web", false}, {"*", "", true}, {"*a*", "bab", true}, {"a*a", "a", false}, {"a*b*c", "aXbYc", true},
		{"a*b*c", "acb", false}, {"web", "web", true}, {"*-1", "web-11", false}, {"*-1", "web-1-1", true}, {"a**b", "ab", true},
	} {
		if got := entry.Matches(c.pattern, c.name); got != c.want {
			t.Errorf("%q matches %q: %v", c.pattern, c.name, got)
		}
	}
}
