package cluster_test

import (
	"io"
	"math"
	"strings"
	"testing"

	"plimsoll/internal/cluster/table"
)

func TestRowsAreReadAsTheyStand(t *testing.T) {
	r := table.NewReader("f.csv", strings.NewReader("\ufeffa;\tb\r\n\n1;\t2.5E3\r\n7;8"), ";", "a", "b")
	if err := r.Header(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); err != nil || r.Line() != 3 || r.Open() {
		t.Fatalf("line %d open %v: %v", r.Line(), r.Open(), err)
	}
	a, err := r.Whole(0, 9)
	if err != nil || a != 1 {
		t.Errorf("a is %d, %v", a, err)
	}
	b, err := r.Number(1, 1e9)
	if err != nil || b != 2500 {
		t.Errorf("b is %v, %v", b, err)
	}
	if _, err := r.Next(); err != nil || !r.Open() {
		t.Errorf("a last line without end: open %v, %v", r.Open(), err)
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("behind the last row: %v", err)
	}
}

func TestMistakesAreNamedWithFileAndLine(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"1,NaN\n", `f.csv:1: b "NaN" is not finite`},
		{"1,-2\n", `f.csv:1: b "-2" is below 0`},
		{"1,-Inf\n", `f.csv:1: b "-Inf" is below 0`},
		{"1,1e999\n", `f.csv:1: b "1e999" is above the maximum of 100`},
		{"1,101\n", `f.csv:1: b "101" is above the maximum of 100`},
		{"1,0x10\n", `f.csv:1: b "0x10" is not a number`},
		{"1,\n", `f.csv:1: b "" is not a number`},
		{"\n-1,2\n", `f.csv:2: a "-1" is below 0`},
		{"99999999999999999999,2\n", `f.csv:1: a "99999999999999999999" is above the maximum of 100`},
		{"-99999999999999999999,2\n", `f.csv:1: a "-99999999999999999999" is below 0`},
		{"1.5,2\n", `f.csv:1: a "1.5" is not an integer`},
		{"1,2,3\n", `f.csv:1: 3 columns separated by ","; expected 2: a, b`},
		{"1,2\n1", `f.csv:2: the last line has 1 of 2 columns and no newline: the file is truncated`},
		{"\xff,2\n", `f.csv:1: the line is not text`},
		{strings.Repeat("a", 64<<10+1), `f.csv:1: the line is longer`},
	} {
		r := table.NewReader("f.csv", strings.NewReader(c.text), ",", "a", "b")
		if err := all(r); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%.20q: %v; want %s", c.text, err, c.want)
		}
	}
	r := table.NewReader("f.csv", strings.NewReader("a,c\n"), ",", "a", "b")
	if err := r.Header(); err == nil || err.Error() != `f.csv:1: column 2 is "c"; expected "b"` {
		t.Errorf("a wrong header: %v", err)
	}
	r = table.NewReader("f.csv", strings.NewReader(""), ",", "a", "b")
	if err := r.Header(); err == nil || !strings.Contains(err.Error(), "empty") {
		t.Errorf("no header: %v", err)
	}
}

func all(r *table.Reader) error {
	for {
		if _, err := r.Next(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if _, err := r.Whole(0, 100); err != nil {
			return err
		}
		if _, err := r.Number(1, 100); err != nil {
			return err
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add("a,b\n1,2\n")
	f.Add("1,1e3\r\n\n,\n")
	f.Fuzz(func(t *testing.T, text string) {
		r := table.NewReader("f", strings.NewReader(text), ",", "a", "b")
		for {
			fields, err := r.Next()
			if err != nil {
				break
			}
			if len(fields) != 2 {
				t.Fatalf("%d fields", len(fields))
			}
			n, err := r.Whole(0, 100)
			if err == nil && (n < 0 || n > 100) {
				t.Fatalf("%q is %d", fields[0], n)
			}
			x, err := r.Number(1, 100)
			if err == nil && (!(x >= 0 && x <= 100) || math.Signbit(x)) {
				t.Fatalf("%q is %v", fields[1], x)
			}
		}
	})
}
