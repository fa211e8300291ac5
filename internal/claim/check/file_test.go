package check

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"plimsoll/internal/claim"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestList(t *testing.T) {
	data, err := os.ReadFile("testdata/list.yaml")
	if err != nil {
		t.Fatal(err)
	}
	claims, err := Read("list.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, c := range claims {
		fmt.Fprintf(&b, "%d: %s\n  %s", c.Line, c.Text, c.Status)
		for _, part := range []string{c.Computed, c.Reason, c.Wording} {
			if part != "" {
				b.WriteString(" | " + part)
			}
		}
		b.WriteString("\n")
	}
	const golden = "testdata/list.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("got\n%s", b.String())
	}
}

func TestFilesThatCannotBeAudited(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a.md", " \n", "a.md is empty"},
		{"a.md", "a\x00b", "not UTF-8"},
		{"a.md", "\xff1 -> 2", "not UTF-8"},
		{"a.md", "\xff\xfe1\x00", "iconv"},
		{"a.pdf", "%PDF-1.7 ...", "pdftotext"},
		{"a.html", "<!DOCTYPE html><p>1", "HTML"},
		{"a.yaml", "claims: []", "at least one claim"},
		{"a.yaml", "study: x", "one key \"claims\""},
		{"a.yaml", "claims:\n- sais: 5 %", `a.yaml:2:3: unknown key "sais"`},
		{"a.yaml", "claims:\n- says: 5 %", "the keys says are not a claim"},
		{"a.yaml", "claims:\n- {says: 5 %, before: x, after: 2}", `before: "x" is not a number`},
		{"a.yaml", "claims:\n- {says: fine, before: 1, after: 2}", "must be one change"},
		{"a.yaml", "claims:\n- &a {says: 5 %, before: 1, after: 2}\n- *a", "aliases"},
		{"-", "claims:\n- 5", "a claim must be a mapping"},
		{"a.yaml", "claims: [", "a.yaml:1:9: this bracket or quote is not closed"},
	} {
		if _, err := Read(c.name, []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: %v, want %q", c.name, c.text, err, c.want)
		}
	}
}

// Lines end as on any system.
func TestLineEnds(t *testing.T) {
	for _, end := range []string{"\n", "\r\n", "\r"} {
		claims := Text("One." + end + end + "Dense mode carried 510 servers instead of 470, over 10 % more." + end + end + "Two.")
		if len(claims) != 1 || claims[0].Line != 3 || claims[0].Status != claim.DoesNotHold {
			t.Errorf("%q: %+v", end, claims)
		}
	}
}
