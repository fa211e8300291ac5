package remote

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// probes is how many round trips an offset is measured with; the one with the
	// least delay counts.
	probes = 16
	// probing bounds the time of the probes on slow connections.
	probing = time.Second
	// noStep is the tolerance of round trips against each other: the clock may drift or be slewed meanwhile.
	noStep = time.Millisecond
)

// Offset measures how far the far side's clock is ahead of this process's: the far side's
// reading against the middle of the shortest of some round trips (Cristian, Probabilistic clock
// synchronization, 1989). It is off by at most half of that round trip. The clock of this process counts as it stood when
// Offset was called. If that of the far side is set meanwhile, round trips contradict each other, which is an error.
func (m *Machine) Offset(ctx context.Context) (offset, uncertainty time.Duration, err error) {
	began := time.Now()
	best := time.Duration(-1)
	for range probes {
		sent := time.Now()
		a, err := m.do(ctx, request{Method: methodNow}, &call{})
		trip := time.Since(sent)
		if err != nil {
			return 0, 0, fmt.Errorf("read the clock of machine %s: %w", m.Name(), err)
		}
		if a.Now == 0 {
			return 0, 0, fmt.Errorf("read the clock of machine %s: %w", m.Name(), errors.New("the remote side did not report it"))
		}
		// Round drops the monotonic reading: only the wall clock counts.
		measured := time.Unix(0, a.Now).Sub(began.Round(0).Add(sent.Sub(began) + trip/2))
		if step := measured - offset; best >= 0 && step.Abs() > (trip+best)/2+noStep {
			return 0, 0, fmt.Errorf("the clock of machine %s was stepped by about %+.3f s while it was read", m.Name(), step.Seconds())
		}
		if best < 0 || trip < best {
			best, offset = trip, measured
		}
		if time.Since(began) > probing {
			break
		}
	}
	return offset, best/2 + time.Microsecond, nil
}
