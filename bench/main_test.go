package main

import (
	"strings"
	"testing"
)

func TestBenchmarksByName(t *testing.T) {
	all := []benchmark{{name: "load"}, {name: "load-rate"}, {name: "loader"}, {name: "core-scheduling"}}
	for asked, want := range map[string]string{
		"": "load load-rate loader", "load": "load load-rate", "load-rate": "load-rate", "core-scheduling loader": "loader core-scheduling",
	} {
		chosen, err := choose(all, strings.Fields(asked))
		if err != nil {
			t.Errorf("%q: %v", asked, err)
		}
		var names []string
		for _, b := range chosen {
			names = append(names, b.name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%q: got %q, want %q", asked, got, want)
		}
	}
	for _, asked := range []string{"laod", "load laod", "--help", "loa"} {
		if _, err := choose(all, strings.Fields(asked)); err == nil || !strings.Contains(err.Error(), "load-rate") {
			t.Errorf("%q: %v", asked, err)
		}
	}
}
