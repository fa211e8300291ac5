package ceph

import (
	"strings"
	"testing"
)

func TestRedundancy(t *testing.T) {
	for text, want := range map[string]redundancy{
		"replica:1": {copies: 1}, "replica:3": {copies: 3}, "ec:2+1": {data: 2, coding: 1}, "ec:4+2": {data: 4, coding: 2},
	} {
		r, err := parseRedundancy(text)
		if err != nil || r != want {
			t.Errorf("%s: got %+v, %v", text, r, err)
		}
	}
}

func FuzzRedundancy(f *testing.F) {
	for _, text := range []string{"replica:2", "ec:2+1", "ec:2+", "replica:+2", "replica:99999999999999999999", "", ":", "ec:1+1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseRedundancy(text)
		switch {
		case err != nil && strings.Contains(err.Error(), "\n"):
			t.Errorf("%q: the error has several lines: %v", text, err)
		case err == nil && (r.chunks() < 1 || r.copies > 0 && r.data+r.coding > 0):
			t.Errorf("%q is %+v", text, r)
		}
	})
}

func TestAmplification(t *testing.T) {
	for text, want := range map[string]float64{"": 2, "replica:3": 3, "ec:2+1": 1.5, "ec:4+2": 1.5} {
		if got, err := Amplification(text); err != nil || got != want {
			t.Errorf("%q: %g, %v, want %g", text, got, err, want)
		}
	}
	if _, err := Amplification("replica:none"); err == nil {
		t.Error("replica:none has an amplification")
	}
}
