package iometer

import "testing"

func TestParseSpec(t *testing.T) {
	for text, want := range map[string]AccessSpec{
		"4096_100_0":     {Block: 4096, Read: 1, Random: 0},
		"512_0_100":      {Block: 512, Read: 0, Random: 1},
		"65536_67_33":    {Block: 65536, Read: .67, Random: .33},
		"1073741824_1_1": {Block: 1 << 30, Read: .01, Random: .01},
	} {
		want.Name = text
		if got, err := ParseSpec(text); err != nil || got != want {
			t.Errorf("%q: got %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "4096", "4096_100", "4096_100_0_0", "4K_100_0", "4096_101_0", "4096_100_101", "-4096_0_0", "0_0_0", "511_0_0", "513_0_0", "2147483648_0_0", "4096_50.5_0", "4096__0", " 4096_0_0"} {
		if got, err := ParseSpec(text); err == nil {
			t.Errorf("%q passed as %+v", text, got)
		}
	}
}

func FuzzSpec(f *testing.F) {
	for _, seed := range []string{"4096_100_0", "512_0_100", "4KiB", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := ParseSpec(text); err == nil && (s.Block < 512 || s.Block%512 != 0 || s.Read < 0 || s.Read > 1 || s.Random < 0 || s.Random > 1) {
			t.Errorf("%q passed as %+v", text, s)
		}
	})
}
