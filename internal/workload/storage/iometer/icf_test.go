package iometer

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestImportICF(t *testing.T) {
	f, err := os.Open("testdata/iometer.icf")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := ImportICF(f)
	want := []AccessSpec{
		{"4K; 100% Read; 0% random", 4096, 1, 0},
		{"16K OLTP", 16384, .67, 1},
		{"512 B; 0% Read; 100% random", 512, 0, 1},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
}

const icfHead = "Version 1.1.0\r\n'ACCESS SPECIFICATIONS ====\r\n'Access specification name,default assignment\r\n\tone,NONE\r\n'size,% of size,% reads,% random,delay,burst,align,reply\r\n"

func TestImportICFRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "no access specification"},
		{"Version 1.1.0\n'ACCESS SPECIFICATIONS\n'END access specifications\n", "no access specification"},
		{icfHead + "\t4096,50,100,0,0,1,0,0\r\n", "line 6: a share of 50 %"},
		{icfHead + "\t4096,100,100,0,0,1,0,0\r\n\t8192,100,100,0,0,1,0,0\r\n", `line 7: "one" has several lines`},
		{icfHead + "\t4096,100,100,0,5,1,0,0\r\n", "transfer delay"},
		{icfHead + "\t4096,100,100,0,0,8,0,0\r\n", "burst"},
		{icfHead + "\t4096,100,100,0,0,1,0,512\r\n", "reply size"},
		{icfHead + "\t1000,100,100,0,0,1,0,0\r\n", "multiple of 512"},
		{icfHead + "\t4096,100,120,0,0,1,0,0\r\n", "over 100 %"},
		{icfHead + "\tx,100,100,0,0,1,0,0\r\n", `"x" is not a number`},
		{icfHead + "\tNaN,100,100,0,0,1,0,0\r\n", "not a number"},
		{icfHead + strings.Repeat("a", 100000), "read Iometer configuration"},
	} {
		specs, err := ImportICF(strings.NewReader(c.text))
		if err == nil {
			t.Errorf("%q passed as %v", c.text, specs)
			continue
		}
		if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q does not say %q in one line", err, c.want)
		}
	}
}

func FuzzICF(f *testing.F) {
	data, err := os.ReadFile("testdata/iometer.icf")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(data))
	f.Add(icfHead + "\t4096,100,100,0,0,1,0,0\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		specs, err := ImportICF(strings.NewReader(text))
		if (err == nil) != (len(specs) > 0) {
			t.Errorf("%d specifications and %v", len(specs), err)
		}
		for _, s := range specs {
			if s.Block < 512 || s.Block%512 != 0 || s.Read < 0 || s.Read > 1 || s.Random < 0 || s.Random > 1 {
				t.Errorf("passed %+v", s)
			}
		}
	})
}
