package main_test

import (
	"testing"

	"plimsoll/cmd/plimsoll/cli"
)

func TestFold(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"one two three\n", 0, "one two three\n"},
		{"one two three\n", 13, "one two three\n"},
		{"one two three\n", 9, "one two\nthree\n"},
		{"  one two three\n", 9, "  one two\n  three\n"},
		{"name    one two three\n", 16, "name    one two\n        three\n"},
		{"  name    one two\n", 12, "  name\n  one two\n"},
		{"unbreakable\n", 5, "unbreakable\n"},
		{"a unbreakable b\n", 5, "a\nunbreakable b\n"},
		{"µ µ µ µ\n", 3, "µ µ\nµ µ\n"},
		{"\n\n", 3, "\n\n"},
		{"日本 日本 日本\n", 9, "日本 日本\n日本\n"},
		{"東京    one two three\n", 16, "東京    one two\n        three\n"},
	} {
		if got := cli.Fold(c.text, c.width); got != c.want {
			t.Errorf("Fold(%q, %d) = %q, want %q", c.text, c.width, got, c.want)
		}
	}
}
