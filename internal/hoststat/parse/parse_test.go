package parse_test

import (
	"bytes"
	"slices"
	"testing"

	"plimsoll/internal/hoststat/parse"
)

func TestLeading(t *testing.T) {
	for _, test := range []struct {
		line, rest string
		numbers    []float64
	}{
		{"", "", nil},
		{"  \t\n", "", nil},
		{"  12   0\t7", "", []float64{12, 0, 7}},
		{" 5 6  PCI-MSIX 3-edge eth0\n", "PCI-MSIX 3-edge eth0\n", []float64{5, 6}},
		{"1024kB 3", "", []float64{1024, 3}},
		{"-1 5", "-1 5", nil},
	} {
		numbers, rest := parse.Leading(nil, []byte(test.line))
		if !slices.Equal(numbers, test.numbers) || string(rest) != test.rest {
			t.Errorf("%q: numbers %v and rest %q, want %v and %q", test.line, numbers, rest, test.numbers, test.rest)
		}
	}
}

func TestPairs(t *testing.T) {
	text := "MemTotal:       12 kB\nHugePages_Total:   3\nempty\nname -1\npgfault 7\nodd 9 kB x\n no 4\r\n"
	want := map[string]float64{"MemTotal": 12 * 1024, "HugePages_Total": 3, "pgfault": 7, "odd": 9, "no": 4}
	got := map[string]float64{}
	parse.Pairs([]byte(text), func(name []byte, value float64) { got[string(name)] = value })
	if len(got) != len(want) {
		t.Errorf("pairs %v, want %v", got, want)
	}
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s is %g, want %g", name, got[name], value)
		}
	}
}

// Fields of text in ASCII are those of the standard library.
func FuzzFields(f *testing.F) {
	f.Add([]byte(" 7 (a) b) R 1\n"))
	f.Add([]byte("\t\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, b := range text {
			if b >= 0x80 || b == '\v' || b == '\f' || b == '\r' {
				t.Skip()
			}
		}
		got, want := parse.Fields(nil, text), bytes.Fields(text)
		if !slices.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("fields of %q: %q, want %q", text, got, want)
		}
	})
}
