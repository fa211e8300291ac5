package main

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/lab"
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
		{"name    one two three\n", 15, "name    one two\n        three\n"},
		{"unbreakable\n", 5, "unbreakable\n"},
		{"a unbreakable b\n", 5, "a\nunbreakable b\n"},
		{"µ µ µ µ\n", 3, "µ µ\nµ µ\n"},
		{"\n\n", 3, "\n\n"},
	} {
		if got := fold(c.text, c.width); got != c.want {
			t.Errorf("fold(%q, %d) = %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

func TestRunsOnATerminal(t *testing.T) {
	past := []lab.Past{
		{Dir: "results/a", Study: "queue-depth", Started: time.Date(2026, 1, 2, 3, 4, 0, 0, time.Local), State: "finished", Trials: 18, Answer: strings.Repeat("better ", 20)},
		{Dir: "results/b", Study: "x", State: "empty"},
	}
	var narrow, wide strings.Builder
	if err := printRuns(&narrow, past, 60); err != nil {
		t.Fatal(err)
	}
	if err := printRuns(&wide, past, 0); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(narrow.String()) {
		if len(line) > 61 {
			t.Errorf("%d columns: %q", len(line)-1, line)
		}
	}
	if strings.Count(narrow.String(), "better") != 20 || !strings.Contains(narrow.String(), "2026-01-02 03:04  finished  18\n  better") {
		t.Errorf("on a terminal:\n%s", narrow.String())
	}
	if lines := strings.Split(strings.TrimSpace(wide.String()), "\n"); len(lines) != 3 || !strings.HasSuffix(lines[0], "ANSWER") {
		t.Errorf("in a file:\n%s", wide.String())
	}
}
