package platform

import "testing"

func TestMeminfo(t *testing.T) {
	for text, want := range map[string]int64{
		"MemTotal:       16 kB\nMemAvailable:   5 kB\n": 5 << 10,
		"Node 0 MemTotal: 9 kB\nNode 0 MemAvailable: 7": 7 << 10,
		"MemTotal: 16 kB\n":                             -1,
		"MemAvailable:":                                 -1,
		"MemAvailable: many kB":                         -1,
		"MemAvailable: -1 kB":                           -1,
	} {
		got, ok := Meminfo([]byte(text), "MemAvailable")
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
