package snapshot_test

import (
	"testing"

	"plimsoll/internal/cluster/snapshot/unit"
)

func TestQuantities(t *testing.T) {
	for _, q := range []*unit.Kind{unit.Frequency, unit.Size, unit.Bandwidth, unit.DirtyRate} {
		for _, n := range []int64{0, 1, 999, 1000, 1024, 1536, 2600, 1 << 30, 3 << 40, 10_000_000_000, unit.Most - 1, unit.Most} {
			if got, err := q.Parse(q.Whole(n)); err != nil || got != n {
				t.Errorf("%v: %d is written %s and read as %d, %v", q, n, q.Whole(n), got, err)
			}
			for _, x := range []float64{float64(n) / 3, float64(n) * .1, float64(n)} {
				if got, err := q.ParseReal(q.Real(x)); err != nil || got != x {
					t.Errorf("%v: %v is written %s and read as %v, %v", q, x, q.Real(x), got, err)
				}
			}
		}
	}
	for text, want := range map[string]int64{"2.6GHz": 2600, "0.001GHz": 1, "1THz": 1e6, " 5 MHz ": 5, "0": 0, "2.60000GHz": 2600} {
		if got, err := unit.Frequency.Parse(text); err != nil || got != want {
			t.Errorf("%q is %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "2600", "-5MHz", "1.5MHz", "9999999999999999999GHz", "9007199254740993MHz", "1e3MHz", "..MHz", ".MHz", "1.1.1GHz", "5 mhz", "NaNMHz", "0x5MHz", "1.0000000000001GHz", "9007199254740.993GHz"} {
		if got, err := unit.Frequency.Parse(text); err == nil {
			t.Errorf("%q is read as %d", text, got)
		}
	}
}
