package pace

import (
	"context"
	"errors"
	"slices"
	"time"
)

const (
	batches = 5
	batch   = 12 // waits
	nap     = 300 * time.Microsecond
	// mostSpin limits the CPU cost of a wait: a machine with longer wake-ups starts its
	// operations late, which is counted.
	mostSpin = 60 * time.Microsecond
	margin   = 5 * time.Microsecond
)

// Calibrate measures how long before a due time a pacer should stop sleeping on this machine:
// longer than most wake-ups take, at most 60 us. It takes about 20 ms, once per load.
func Calibrate(ctx context.Context) (spin time.Duration, err error) {
	p, err := New(ctx, At(time.Now()), 0)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	return p.calibrate()
}

func (p *Pacer) calibrate() (time.Duration, error) {
	var late [batches][batch]time.Duration
	for i := range late {
		for j := range late[i] {
			due := p.timer.now() + nap
			now, err := p.Until(due)
			if err != nil {
				return 0, err
			}
			late[i][j] = now - due
		}
	}
	return spinFor(late), nil
}

// spinFor is the spin for wake-ups with the given lateness. The quietest batch counts:
// interference only makes wake-ups later.
func spinFor(late [batches][batch]time.Duration) time.Duration {
	spin := mostSpin
	for _, b := range late {
		slices.Sort(b[:])
		spin = min(spin, b[batch*9/10]+margin)
	}
	return spin
}
