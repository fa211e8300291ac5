package escape_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"plimsoll/internal/escape"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"":                             "",
		"latency p99 = 3 µs · ± 2 %":   "latency p99 = 3 µs · ± 2 %",
		"two\nlines\tand a tab":        "two\nlines\tand a tab",
		"\x1b]0;owned\x07":             `\u001b]0;owned\u0007`,
		"\x1b[2J\r":                    `\u001b[2J\u000d`,
		"c1 \u009b31m":                 `c1 \u009b31m`,
		"del\x7f":                      `del\u007f`,
		"exe\u202egpj":                 `exe\u202egpj`,
		"\u2066a\u2069":                `\u2066a\u2069`,
		"zero\u200bwidth\ufeff":        `zero\u200bwidth\ufeff`,
		"soft\u00adhyphen":             `soft\u00adhyphen`,
		"tag\U000e0041":                `tag\udb40\udc41`,
		"line\u2028separator":          `line\u2028separator`,
		"bad\xff\xfebytes":             `bad\ufffd\ufffdbytes`,
		"replacement \ufffd is itself": "replacement \ufffd is itself",
		"日本語 ●■◆ │─ …":                 "日本語 ●■◆ │─ …",
	} {
		if got := escape.Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestLine(t *testing.T) {
	if got, want := escape.Line("a\nplimsoll: done\tb\r"), `a\nplimsoll: done\tb\u000d`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestCell(t *testing.T) {
	for in, want := range map[string]string{
		"=1+1": "'=1+1", "+1+1": "'+1+1", "-1+1": "'-1+1", "@SUM(A1)": "'@SUM(A1)", "\t=1": "'\t=1", "\r=1": `'\u000d=1`, "＝1": "'＝1",
		"-1": "-1", "+5.5 %": "+5.5 %", "-3%": "-3%", "+5.5e3": "+5.5e3", "1=2": "1=2", "": "", "read.p99": "read.p99", "a\x1bb": `a\u001bb`,
	} {
		if got := escape.Cell(in); got != want {
			t.Errorf("Cell(%q) = %q, want %q", in, got, want)
		}
	}
}

// JSON that is escaped once more keeps its value, and nothing that steers a terminal is left.
func FuzzText(f *testing.F) {
	f.Add("\x1b[31m\u202e")
	f.Fuzz(func(t *testing.T, s string) {
		out := escape.Text(s)
		if !utf8.ValidString(out) || strings.ContainsAny(out, "\x1b\r\u202e\u200b\u009b") || escape.Text(out) != out {
			t.Fatalf("%q became %q", s, out)
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var plain, again string
		if json.Unmarshal(text, &plain) != nil || json.Unmarshal([]byte(escape.Text(string(text))), &again) != nil || plain != again {
			t.Fatalf("JSON %s changed its value", text)
		}
	})
}
