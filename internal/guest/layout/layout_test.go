package layout

import (
	"testing"

	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/view"
)

func TestWhatAStudyWrites(t *testing.T) {
	for text, want := range map[string]Layout{"2x4": {2, 1, 4, 1}, "1x4x2": {1, 1, 4, 2}, "1x2x4x2": {1, 2, 4, 2}} {
		got, err := parse(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%s is %v (%s), %v", text, got, got, err)
		}
		c := hardware.CPU{Count: want.Count()}
		if err := Apply(&c, text); err != nil || Of(c) != want || c.Topology != hardware.Explicit {
			t.Errorf("%s makes %+v, %v", text, c, err)
		}
	}
	for _, text := range []string{"2", "x", "2x0", "2x256", "1x1x1x1x1", "axb", "spred"} {
		if Check(text) == nil {
			t.Errorf("%q was taken", text)
		}
	}
	for _, text := range []string{"", "spread", "auto", "2x4"} {
		if err := Check(text); err != nil {
			t.Error(err)
		}
	}
	if err := Apply(&hardware.CPU{Count: 3}, "2x4"); err == nil {
		t.Error("8 vCPUs of 3")
	}
}

func TestSeen(t *testing.T) {
	var v view.Topology
	for i := range 8 {
		v.CPUs = append(v.CPUs, view.CPU{ID: i, Socket: i / 4, Core: i / 2 % 2})
	}
	if got := Seen(v).String(); got != "2x2x2" {
		t.Errorf("seen %s", got)
	}
}
