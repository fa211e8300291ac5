package fault

import (
	"strings"
	"testing"
)

func TestCaught(t *testing.T) {
	err := Caught(func() error { panic("out of range") })
	if err == nil || !strings.Contains(err.Error(), "internal error in plimsoll, please report it: out of range") {
		t.Error(err)
	}
	if err := Caught(func() error { return nil }); err != nil {
		t.Error(err)
	}
}
