package qemu

import "testing"

func TestCPUField(t *testing.T) {
	const text = "processor\t: 0\nmodel name\t: AMD EPYC: 7\nflags\t\t: fpu vme\n\nprocessor\t: 1\nmodel name\t: other\n"
	for name, want := range map[string]string{"model name": "AMD EPYC: 7", "flags": "fpu vme", "bugs": ""} {
		if got := cpuField([]byte(text), name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
