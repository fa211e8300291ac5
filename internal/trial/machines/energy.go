package machines

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"plimsoll/internal/hoststat/energy"
	"plimsoll/internal/platform"
	"plimsoll/internal/study"
)

// EnergySource is where the energy of a trial is read. A nil one is none.
type EnergySource struct {
	from energy.Source
	// Own reports whether the study names it, so that it holds wherever the machines are.
	Own bool
}

// OpenEnergy opens the source that a study names, or else one of this host, whose root is a file system, and reads it once. Its error
// says what is missing and how to get it.
func OpenEnergy(ctx context.Context, root fs.FS, own *study.Energy) (s *EnergySource, err error) {
	s = &EnergySource{Own: own != nil}
	if own == nil {
		if s.from, err = energy.Find(root); err != nil {
			return nil, fmt.Errorf("%w; or name a source in measure.energy", err)
		}
		return s, nil
	}
	unit, known := energy.UnitOf(own.Unit)
	if !known {
		return nil, fmt.Errorf("measure.energy: unknown unit %q: use one of %s", own.Unit, energy.UnitNames())
	}
	s.from = energy.Own{File: own.File, Command: own.Command, Unit: unit, Covers: own.Covers, Every: own.Every}.Source()
	if _, err := s.from.Read(ctx); err != nil {
		return nil, fmt.Errorf("measure.energy: %w", err)
	}
	return s, nil
}

// Here reports whether all machines of a set are on this host: they are this host, or guests of it.
func (c Set) Here(under *Hypervisor) bool {
	for _, m := range c {
		local, ok := m.At.Machine.(platform.Local)
		if here := ok && local.Local(); !here && (!under.read() || under.Missing != "") {
			return false
		}
	}
	return len(c) > 0
}

// Energy follows the energy of a host. A nil one knows nothing.
type Energy struct {
	source EnergySource
	again  func() // takes a reading, until End
	stop   context.CancelFunc
	done   sync.WaitGroup

	reading  sync.Mutex // one at a time
	mu       sync.Mutex
	course   energy.Course
	readings int
	failed   error // of the last reading
}

// mostGap is how many readings of a power may be missing in a row.
const mostGap = 5

// Follow takes readings until End; nil without a source.
func (s *EnergySource) Follow(ctx context.Context) *Energy {
	if s == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	e := &Energy{source: *s, stop: cancel, course: energy.Course{Gap: mostGap * max(s.from.Every, sampleEvery)}}
	e.again = func() { e.read(ctx) }
	e.again()
	e.done.Go(func() {
		tick := time.NewTicker(s.from.Every)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				e.again()
			}
		}
	})
	return e
}

// read takes a reading. One that fails leaves a gap.
func (e *Energy) read(ctx context.Context) {
	e.reading.Lock()
	defer e.reading.Unlock()
	from := time.Now()
	now, err := e.source.from.Read(ctx)
	if ctx.Err() != nil {
		return
	}
	at := from.Add(time.Since(from) / 2)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.failed = err; err == nil {
		e.readings++
		e.course.Add(at, now)
	}
}

// Watts is the mean power between two instants. Its error says why it is unknown.
func (e *Energy) Watts(from, to time.Time) (float64, error) {
	e.again()
	e.mu.Lock()
	defer e.mu.Unlock()
	watts, err := e.course.Watts(from, to)
	switch {
	case err != nil && e.failed != nil:
		err = fmt.Errorf("%w: %w", err, e.failed)
	case err == nil && watts == 0:
		err = errors.New("it showed no energy in the window: measure longer, or name another source")
	}
	return watts, err
}

// Source is where the energy is read, and how often it was.
func (e *Energy) Source() string {
	return fmt.Sprintf("%d readings of %s", e.readings, e.source.from.Name)
}

// End takes the last reading.
func (e *Energy) End(ctx context.Context) {
	if e == nil {
		return
	}
	e.stop()
	e.done.Wait()
	e.read(context.WithoutCancel(ctx))
}
