package chart

import "testing"

func TestFit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		most int // runes
		want string
	}{
		{"short", 5, "short"},
		{"protection:server=checkpoint:100ms", 20, "protect…kpoint:100ms"},
		{"protection:server=checkpoint:50ms", 20, "protect…ckpoint:50ms"},
		{"storage.queue=128, none", 12, "stor…8, none"},
		{"abcdef", 2, "…f"},
		{"abcdef", 1, "abcdef"},
		{"größer als früher", 9, "grö…rüher"},
	} {
		if got := Fit(c.text, 10, (float64(c.most)+.1)*5.8); got != c.want {
			t.Errorf("%q in %d runes is %q, want %q", c.text, c.most, got, c.want)
		}
	}
}
