package trial_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"plimsoll/internal/trial/drive"
)

func TestBarrier(t *testing.T) {
	b := drive.NewBarrier(2)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("alone and cancelled: %v", err)
	}
	at, err := b.Wait(t.Context())
	if err != nil || time.Until(at) <= 0 {
		t.Errorf("begins at %v, %v", at, err)
	}
}
