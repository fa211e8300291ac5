package column_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"plimsoll/internal/column"
)

func TestWidth(t *testing.T) {
	for text, want := range map[string]int{"": 0, "esx-1": 5, "µs ± 2 %": 8, "日本": 4, "ホスト-1": 8, "ﾎｽﾄ": 3, "ｅｓｘ": 6, "e\u0301": 1, "zero\u200bwidth": 9, "🚀": 2, "●■": 2} {
		if got := column.Width(text); got != want {
			t.Errorf("Width(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestTable(t *testing.T) {
	var out strings.Builder
	table := column.NewTable(&out)
	if _, err := table.Write([]byte("host\tVMs\tCPU\nesx-1\t3\t5 %\n東京-1\t12\t50 %\nbetween\n\nname\tx\na\ty\n")); err != nil {
		t.Fatal(err)
	}
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	want := "host    VMs  CPU\nesx-1   3    5 %\n東京-1  12   50 %\nbetween\n\nname  x\na     y\n"
	if out.String() != want {
		t.Errorf("%s\nwant\n%s", out.String(), want)
	}
}

func FuzzCut(f *testing.F) {
	f.Add("日本語 host", 5)
	f.Add("e\u0301\u0301", 1)
	f.Fuzz(func(t *testing.T, line string, width int) {
		head, rest := column.Cut(line, width)
		if head+rest != line || column.Width(head) > max(width, 0) {
			t.Fatalf("Cut(%q, %d) is %q and %q", line, width, head, rest)
		}
		if _, size := utf8.DecodeRuneInString(rest); rest != "" && column.Width(head+rest[:size]) <= width {
			t.Fatalf("Cut(%q, %d) leaves %q, which fits", line, width, rest)
		}
	})
}
