package report_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
	"plimsoll/internal/report"
	"plimsoll/internal/report/content"
	"plimsoll/internal/report/markdown"
	"plimsoll/internal/report/terminal"
)

func textOf(t *testing.T, in report.Input) string {
	t.Helper()
	var b bytes.Buffer
	if err := terminal.Write(&b, in); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTextKeepsToItsWidth(t *testing.T) {
	for _, name := range report.SortedKeys(fixtures()) {
		for _, width := range []int{0, 80, 100, 120} {
			in := rendered(t, name)
			in.Width = width
			if width == 0 {
				width = terminal.UsualWidth
			}
			for line := range strings.SplitSeq(textOf(t, in), "\n") {
				if n := utf8.RuneCountInString(line); n > width {
					t.Errorf("%s at %d: a line of %d: %s", name, width, n, line)
				}
			}
		}
	}
}

// Words of praise stand only where the verdict is decided.
func TestTextOfNoDifference(t *testing.T) {
	for _, name := range []string{"aa", "undecided"} {
		if text := textOf(t, rendered(t, name)); regexp.MustCompile("better|worse|faster|slower").MatchString(text) {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

func TestTextHasColourOnlyWhenAsked(t *testing.T) {
	in := rendered(t, "decided")
	if strings.Contains(textOf(t, in), "\x1b") {
		t.Error("colour without being asked for")
	}
	in.Colour = true
	colourful := textOf(t, in)
	if !strings.Contains(colourful, "\x1b[32m") || !strings.Contains(colourful, "\x1b[31m") {
		t.Errorf("no colour although decided:\n%q", colourful)
	}
	in.Colour = false
	if plain := regexp.MustCompile("\x1b\\[[0-9]*m").ReplaceAllString(colourful, ""); plain != textOf(t, in) {
		t.Error("colour changes the text")
	}
	aa := rendered(t, "undecided")
	aa.Colour = true
	if strings.Contains(textOf(t, aa), "\x1b") {
		t.Error("colour although nothing is decided")
	}
}

func TestMarkdownIsEscaped(t *testing.T) {
	f := fixtures()["decided"]
	f.levels = []string{"1", "a|b_c*<i>"}
	f.question = "# not a *heading*"
	var b bytes.Buffer
	if err := markdown.Write(&b, f.input(t)); err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(b.String(), "\n") {
		if strings.HasPrefix(line, "| iops") && strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") != 9 {
			t.Errorf("a level breaks the table: %s", line)
		}
	}
	for _, bad := range []string{"<i>", "*heading*\n", "\n# not"} {
		if strings.Contains(strings.ReplaceAll(b.String(), `\*heading\*`, ""), bad) {
			t.Errorf("the text holds %q", bad)
		}
	}
}

// Where no block holds a metric of both arms nothing is printed as if it had been measured.
func TestWhatWasNotComparedHasNoNumber(t *testing.T) {
	c := &finding.Comparison{Metric: measure.Metric{Name: "iops"}, Ratio: 1, Low: 1, High: 1, NoInterval: true, Verdict: finding.NotEnoughRuns}
	if got := content.ChangeOf(c); got != content.Unmeasured {
		t.Errorf("without a block: %q", got)
	}
	c.Blocks = 1
	if got := content.ChangeOf(c); got == content.Unmeasured {
		t.Errorf("with one: %q", got)
	}
	c.NoRatio = true
	if got := content.ChangeOf(c); got != content.NoRatio {
		t.Errorf("from 0: %q", got)
	}
}
