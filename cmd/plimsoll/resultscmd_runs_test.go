package main_test

import (
	"strings"
	"testing"
	"time"

	"plimsoll/cmd/plimsoll/resultscmd"
	"plimsoll/internal/history"
)

func TestRunsOnATerminal(t *testing.T) {
	past := []history.Run{
		{Folder: "results/a", Study: "queue-depth", Started: time.Date(2026, 1, 2, 3, 4, 0, 0, time.Local), State: "finished", Trials: 18, Answer: strings.Repeat("better ", 20)},
		{Folder: "results/b", Study: "x", State: "empty"},
	}
	var narrow, wide strings.Builder
	if err := resultscmd.PrintRuns(&narrow, past, 60); err != nil {
		t.Fatal(err)
	}
	if err := resultscmd.PrintRuns(&wide, past, 0); err != nil {
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
