package drive

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestBarrier(t *testing.T) {
	b := newBarrier(2)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("alone and cancelled: %v", err)
	}
	at, err := b.wait(t.Context())
	if err != nil || time.Until(at) <= 0 {
		t.Errorf("begins at %v, %v", at, err)
	}
}
