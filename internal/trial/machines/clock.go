package machines

import (
	"context"
	"fmt"
	"math"
	"time"

	"plimsoll/internal/platform"
)

const (
	mostDrift     = 0.01                  // share of the time by which two clocks may part: oscillators differ by 0.0001
	mostStep      = 20 * time.Millisecond // that a daemon may set a clock by at once
	clockDeadline = 30 * time.Second      // of a reading
)

// clockReading is the distance of a machine's clock from that of this process.
type clockReading struct {
	at                  time.Time
	offset, uncertainty time.Duration
}

// WatchClocks reads the clocks of the machines that bear a load, before it. The returned function compares them after it: a machine that was
// paused meanwhile has timed too little, and what it says of its operations a second is too much. Its error is a reason to void the trial.
func (c Set) WatchClocks(ctx context.Context) (compare func(context.Context) error, err error) {
	before := map[*Member]clockReading{}
	for _, m := range c {
		at, clocked := m.At.Machine.(platform.Clocked)
		if !m.Drives() || !clocked || countsInstructions(ctx, m.At.Machine) || disturbed(m.At.Machine) {
			continue
		}
		if before[m], err = readClock(ctx, m.At.Machine.Name(), at); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context) error {
		for m, was := range before {
			is, err := readClock(ctx, m.At.Machine.Name(), m.At.Machine.(platform.Clocked))
			if err == nil {
				err = was.parts(is, m.At.Machine.Name())
			}
			if err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func countsInstructions(ctx context.Context, m platform.Machine) bool {
	h, ok := m.(platform.Hosted)
	if !ok {
		return false
	}
	given, err := h.Given(ctx)
	return err == nil && given.VirtualTime
}

// disturbed reports whether the study has an event for the machine, such as a migration, whose metrics tell how long it stopped.
func disturbed(m platform.Machine) bool {
	d, ok := m.(platform.Disturbed)
	return ok && d.Pending() != ""
}

func readClock(ctx context.Context, name string, c platform.Clocked) (r clockReading, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, clockDeadline, fmt.Errorf("no answer in %s", clockDeadline))
	defer cancel()
	if r.offset, r.uncertainty, err = c.Offset(ctx); err != nil {
		return r, fmt.Errorf("read the clock of machine %s: %w", name, err)
	}
	r.at = time.Now()
	return r, nil
}

// parts is the error of a clock that lost or gained time until a later reading.
func (r clockReading) parts(later clockReading, name string) error {
	elapsed, gained := later.at.Sub(r.at), later.offset-r.offset
	most := time.Duration(mostDrift*float64(elapsed)) + mostStep + r.uncertainty + later.uncertainty
	if gained.Abs() <= most {
		return nil
	}
	did := "fell behind"
	if gained > 0 {
		did = "ran ahead"
	}
	return fmt.Errorf("the clock of machine %s %s by %.3g s in %.3g s: the machine was paused, or a clock was set, so that nothing it timed can be believed",
		name, did, math.Abs(gained.Seconds()), elapsed.Seconds())
}
