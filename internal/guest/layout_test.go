package guest_test

import (
	"testing"

	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/layout"
	"plimsoll/internal/guest/view"
)

func TestWhatAStudyWrites(t *testing.T) {
	for text, want := range map[string]layout.Layout{
		"2x4": {Sockets: 2, Dies: 1, Cores: 4, Threads: 1}, "1x4x2": {Sockets: 1, Dies: 1, Cores: 4, Threads: 2}, "1x2x4x2": {Sockets: 1, Dies: 2, Cores: 4, Threads: 2},
	} {
		if want.String() != text {
			t.Errorf("%+v is written %s", want, want)
		}
		c := hardware.CPU{Count: want.Count()}
		if err := layout.Apply(&c, text); err != nil || layout.Of(c) != want || c.Topology != hardware.Explicit {
			t.Errorf("%s makes %+v, %v", text, c, err)
		}
	}
	for _, text := range []string{"2", "x", "2x0", "2x256", "1x1x1x1x1", "axb", "spred"} {
		if layout.Check(text) == nil {
			t.Errorf("%q was taken", text)
		}
	}
	for _, text := range []string{"", "spread", "auto", "2x4"} {
		if err := layout.Check(text); err != nil {
			t.Error(err)
		}
	}
	if err := layout.Apply(&hardware.CPU{Count: 3}, "2x4"); err == nil {
		t.Error("8 vCPUs of 3")
	}
}

func TestSeen(t *testing.T) {
	var v view.Topology
	for i := range 8 {
		v.CPUs = append(v.CPUs, view.CPU{ID: i, Socket: i / 4, Core: i / 2 % 2})
	}
	if got := layout.Seen(v).String(); got != "2x2x2" {
		t.Errorf("seen %s", got)
	}
}
