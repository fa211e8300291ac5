package trial_test

import (
	"strings"
	"testing"

	"plimsoll/internal/trial/fault"
)

func TestCaught(t *testing.T) {
	err := fault.Caught(func() error { panic("out of range") })
	if err == nil || !strings.Contains(err.Error(), "internal error in plimsoll, please report it: out of range") {
		t.Error(err)
	}
	if err := fault.Caught(func() error { return nil }); err != nil {
		t.Error(err)
	}
}
