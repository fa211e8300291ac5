package service

import (
	"testing"

	"plimsoll/internal/platform"
)

func TestDeathNamesTheProcess(t *testing.T) {
	for log, want := range map[string]string{
		"": "ceph ended with status 1",
		"bad\nplimsoll: osd.1 ended (status 137)\n": "ceph ended with status 1: osd.1 ended (status 137)",
		"said plimsoll: nothing":                    "ceph ended with status 1",
	} {
		d := &DeathError{Program: "ceph", Result: platform.Result{Exit: 1}, Log: log}
		if got := d.How(); got != want {
			t.Errorf("%q: got %q, want %q", log, got, want)
		}
	}
}
