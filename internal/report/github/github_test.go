package github

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/document"
)

// read takes a command apart as the runner of GitHub Actions does: ActionCommand.TryParseV2 of actions/runner.
func read(line string) (name, text string, properties map[string]string, ok bool) {
	rest, ok := strings.CutPrefix(line, "::")
	if !ok || strings.ContainsAny(line, "\r\n") {
		return "", "", nil, false
	}
	head, text, ok := strings.Cut(rest, "::")
	name, list, _ := strings.Cut(head, " ")
	properties = map[string]string{}
	for _, p := range strings.Split(list, ",") {
		if key, value, found := strings.Cut(p, "="); found {
			properties[key] = strings.NewReplacer("%0D", "\r", "%0A", "\n", "%3A", ":", "%2C", ",", "%25", "%").Replace(value)
		}
	}
	return name, strings.NewReplacer("%0D", "\r", "%0A", "\n", "%25", "%").Replace(text), properties, ok
}

func TestAMistakeIsShownAtItsPlace(t *testing.T) {
	for _, m := range []document.Mistake{
		{File: "studies/a.yaml", Line: 3, Column: 7, Text: `unknown key "thread"; did you mean "threads"?`},
		{File: "a,b:c%2C.yaml", Line: 1, Column: 1, Text: "100 % of\r\n::error::it::"},
		{Text: "no place"}, {File: "only.yaml", Text: ""},
	} {
		name, text, properties, ok := read(Mistake(&m))
		if !ok || name != "error" || text != m.Text || properties["file"] != m.File {
			t.Errorf("%+v became %q: %s %q %v", m, Mistake(&m), name, text, properties)
		}
		if line, _ := strconv.Atoi(properties["line"]); line != m.Line {
			t.Errorf("%q: line %v", Mistake(&m), properties)
		}
		if column, _ := strconv.Atoi(properties["col"]); column != m.Column {
			t.Errorf("%q: column %v", Mistake(&m), properties)
		}
	}
}

func TestANoticeIsOneLine(t *testing.T) {
	name, text, properties, ok := read(Notice("plimsoll: a, b", "better\nby 5 %"))
	if !ok || name != "notice" || text != "better\nby 5 %" || properties["title"] != "plimsoll: a, b" {
		t.Errorf("%s %q %v", name, text, properties)
	}
	if line := Notice("a\x1b[2J", "\u202eb\u2028c"); strings.ContainsAny(line, "\x1b\u202e\u2028") {
		t.Errorf("%q", line)
	}
}

func FuzzCommand(f *testing.F) {
	f.Add("a.yaml", 3, "text")
	f.Add("a,b:c=%0A", 0, "::warning::%25\n")
	f.Fuzz(func(t *testing.T, file string, line int, text string) {
		m := document.Mistake{File: file, Line: line, Column: line, Text: text}
		name, _, properties, ok := read(Mistake(&m))
		if !ok || name != "error" || len(properties) > 3 {
			t.Fatalf("%q: %s %v", Mistake(&m), name, properties)
		}
	})
}

func TestASummaryKeepsToTheLimit(t *testing.T) {
	line := strings.Repeat("x", 99) + "\n"
	for _, c := range []struct {
		lines int
		taken int64
		cut   bool
	}{{10, 0, false}, {10_485, 0, false}, {10_486, 0, true}, {20_000, 500_000, true}, {1, mostSummary - 100, false}, {2, mostSummary - 150, true}, {1, mostSummary, true}, {1, mostSummary + 5, true}} {
		summary := strings.Repeat(line, c.lines)
		got := Cut(summary, c.taken)
		if (got != summary) != c.cut || int64(len(got))+c.taken > max(mostSummary, c.taken) {
			t.Errorf("%+v: %d bytes of %d", c, len(got), len(summary))
		}
		if c.cut && got != "" && (!strings.Contains(got, "does not fit") || !strings.HasPrefix(summary, got[:strings.LastIndex(got, "\nThe")])) {
			t.Errorf("%+v: cut to %s", c, fmt.Sprintf("%.200q", got[max(0, len(got)-200):]))
		}
	}
}
