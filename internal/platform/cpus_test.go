package platform

import (
	"slices"
	"testing"
)

func TestCPULists(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0", "0,1": "0-1", "1,0,1": "0-1", "0-3,8\n": "0-3,8", "4,2,0": "0,2,4", "5-5": "5", "0-1,1-2": "0-2",
	} {
		got, err := ParseCPUs(text)
		if err != nil || got.String() != want {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"", "a", "1-", "-1", "3-1", "1,,2", "0 1", "8192", "99999999999", "+1", "0-8191,x"} {
		if got, err := ParseCPUs(text); err == nil {
			t.Errorf("%q passed as %v", text, got)
		}
	}
}

func TestWithout(t *testing.T) {
	if got := (CPUs{0, 1, 2, 5}).Without(CPUs{1, 5, 7}); !slices.Equal(got, CPUs{0, 2}) {
		t.Errorf("got %v", got)
	}
}

func FuzzParseCPUs(f *testing.F) {
	for _, seed := range []string{"0-3,8", "", "1,0", "7-7"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		cpus, err := ParseCPUs(text)
		if err != nil {
			return
		}
		again, err := ParseCPUs(cpus.String())
		if err != nil || !slices.Equal(again, cpus) || len(cpus) == 0 || !slices.IsSorted(cpus) {
			t.Errorf("%q: %v is read back as %v, %v", text, cpus, again, err)
		}
	})
}
