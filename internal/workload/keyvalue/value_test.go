package keyvalue

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

func TestParseValue(t *testing.T) {
	for text, want := range map[string]string{
		"256B":                  "[{256 1 100}]",
		"1B":                    "[{1 1 100}]",
		"64B/70:4KiB/30":        "[{64 0.7 70} {4096 0.3 100}]",
		"64B/50:1KiB/49:1MiB/1": "[{64 0.5 50} {1024 0.49 99} {1048576 0.01 100}]",
	} {
		if got, err := parseValue(text); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"":                                   "is not a size",
		"256":                                "is not a size",
		"0B":                                 "not between 1B and 64MiB",
		"65MiB":                              "not between 1B and 64MiB",
		"64B/70:4KiB":                        "is not a size",
		"64B/100":                            "is not a size",
		"64B/70:4KiB/40":                     "add up to 110 %",
		"64B/0:4KiB/100":                     "not a whole percentage",
		"64B/1.5:4KiB/98.5":                  "not a whole percentage",
		"64B/NaN:4KiB/30":                    "not a whole percentage",
		"64B/70:4KiB/30:":                    "is not a size",
		strings.Repeat("1B/1:", 99) + "1B/1": "is not a size",
	} {
		if _, err := parseValue(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzParseValue(f *testing.F) {
	for _, text := range []string{"256B", "64B/70:4KiB/30", "1B/1:", "/:"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		bands, err := parseValue(text)
		if err != nil {
			return
		}
		if mean := meanSize(bands); len(bands) == 0 || bands[len(bands)-1].below != 100 || !(mean >= 1 && mean <= largestValue) {
			t.Errorf("%q is %v, of %g bytes on average", text, bands, mean)
		}
	})
}

func TestSharesOfSizes(t *testing.T) {
	d := newDataset(mustBands(t, "64B/70:1KiB/29:16KiB/1"), 1)
	counts, shares := make([]int64, 3), []float64{.7, .29, .01}
	const keys = 100_000
	for key := range int64(keys) {
		for i, b := range d.bands {
			if d.size(key) == b.size {
				counts[i]++
			}
		}
	}
	if got, limit := chiSquare(counts, shares, keys); got > limit {
		t.Errorf("%v of %d keys: chi square %.1f, limit %.1f", counts, keys, got, limit)
	}
}

// takes says whether a value passes for that of a key, in pieces.
func (d *dataset) takes(key int64, pieces ...[]byte) (stamp, bool) {
	var text keyText
	r := reading{right: true}
	for _, p := range pieces {
		r.size += len(p)
	}
	r.right = r.size == d.size(key)
	for _, p := range pieces {
		r.take(d, key, text.text(key), p)
	}
	return r.stamp, r.right
}

// A value is known piece by piece, whatever the pieces, and nothing else passes for it.
func TestValues(t *testing.T) {
	var text keyText
	for _, size := range []int{1, 10, leastStamped - 1, leastStamped, keyLength, headLength - 1, headLength, headLength + 1, 100, noiseLength, 2*noiseLength + headLength + 5} {
		d := newDataset([]band{{size, 1, 100}}, 3)
		for _, key := range []int64{0, 511, 512, 123_456_789} {
			s := stamp{uint32(key) + 5, 77}
			if size < leastStamped {
				s = stamp{}
			}
			value := d.add(nil, key, text.text(key), s)
			if len(value) != size {
				t.Fatalf("a value of %d bytes has %d", size, len(value))
			}
			step := max(1, size/57)
			for at := 0; at <= size; at += step {
				if got, right := d.takes(key, value[:at], value[at:]); !right || got != s {
					t.Fatalf("size %d, key %d: cut at %d it is %v, %t", size, key, at, got, right)
				}
			}
			for at := 0; at < size; at += step {
				value[at] ^= 1
				if _, right := d.takes(key, value); right {
					t.Fatalf("size %d, key %d: byte %d may be anything", size, key, at)
				}
				value[at] ^= 1
			}
			if _, right := d.takes(key, append(value, 'x')); right {
				t.Errorf("size %d: a longer value passes", size)
			}
			if _, right := d.takes(key+1, value); right {
				t.Errorf("size %d: the value of key %d passes for that of the next", size, key)
			}
			if size <= headLength {
				continue
			}
			other := d.add(nil, key, text.text(key), stamp{s.version + 1, s.writer})
			for at := headLength; at < size; at += step {
				if _, right := d.takes(key, value[:at], other[at:]); right {
					t.Fatalf("size %d: torn at %d between two writes it passes", size, at)
				}
			}
		}
	}
}

func TestValuesOfAnotherSeedDiffer(t *testing.T) {
	var text keyText
	for _, size := range []int{20, 200} {
		one, two := newDataset([]band{{size, 1, 100}}, 1), newDataset([]band{{size, 1, 100}}, math.MaxUint64)
		if _, right := two.takes(5, one.add(nil, 5, text.text(5), stamp{})); right {
			t.Error("two seeds make the same values")
		}
	}
}

func TestKeyText(t *testing.T) {
	var text keyText
	for key, want := range map[int64]string{0: "plimsoll:0000000000", 7: "plimsoll:0000000007", 9_999_999_999: "plimsoll:9999999999"} {
		if got := string(text.text(key)); got != want {
			t.Errorf("%d is %s", key, got)
		}
	}
}
