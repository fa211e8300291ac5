package capacity

import (
	"context"
	"errors"
	"runtime"
	"testing"
)

// As many VMs boot at a time as the host has CPUs; the next one waits for a turn, and not for longer than anybody wants it.
func TestEnter(t *testing.T) {
	c := New(t.TempDir(), ThisHost())
	var leave func()
	for range runtime.NumCPU() {
		var err error
		if leave, err = c.Enter(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	over, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if _, err := c.Enter(over); !errors.Is(err, why) {
		t.Errorf("a turn beyond the CPUs: %v", err)
	}
	leave()
	if _, err := c.Enter(t.Context()); err != nil {
		t.Error(err)
	}
}
