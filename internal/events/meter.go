package events

import (
	"io/fs"
	"sync"
	"time"
)

// Meter adds up the operations of a run that goes on, from the events in its folder. It may be read by several goroutines.
type Meter struct {
	dir string

	mu       sync.Mutex
	follower *Follower // nil while there is no file
	reading  Reading
	last     time.Time // of the last line
	read     time.Time // when it was read
}

// Reading is what a meter reads.
type Reading struct {
	Operations float64 // completed successfully, of all lines that were read
	Errors     float64
	// Load is that of the last interval: nil while there is no load, and when it is stale.
	Load *Load
}

// NewMeter returns the meter of a results folder, or of a tuning with the folders of its runs.
func NewMeter(dir string) *Meter { return &Meter{dir: dir} }

const (
	mostBatches = 4096             // that one reading takes
	staleAfter  = 30 * time.Second // without a line, after which the last interval is stale
)

// Read reads the events that are new. Its error wraps fs.ErrNotExist if the run has no events, or none any more.
func (m *Meter) Read(now time.Time) (Reading, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.follower == nil {
		folder := Find(m.dir)
		if folder == "" {
			return Reading{}, fs.ErrNotExist
		}
		m.follower, m.reading = NewFollower(folder), Reading{}
	}
	for range mostBatches {
		b, err := m.follower.Next()
		if err != nil {
			m.follower.Close()
			m.follower = nil
			return Reading{}, err
		}
		m.add(b, now)
		if !b.More {
			break
		}
	}
	r := m.reading
	if now.Sub(m.last) >= staleAfter && now.Sub(m.read) >= staleAfter { // the clock of its host may differ from ours
		r.Load = nil
	}
	return r, nil
}

func (m *Meter) add(b Batch, now time.Time) {
	if b.Anew {
		m.reading = Reading{}
	}
	for i := range b.Lines {
		l := &b.Lines[i]
		if l.Load != nil {
			m.reading.Operations += float64(max(0, l.Load.Operations)) // a file may hold any number
			m.reading.Errors += float64(max(0, l.Load.Errors))
		}
		m.reading.Load, m.last = l.Load, l.Time
	}
	switch {
	case b.Anew:
		m.read = time.Time{} // it may be old
	case len(b.Lines) > 0:
		m.read = now
	}
}

// Close closes the file of events.
func (m *Meter) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.follower != nil {
		m.follower.Close()
	}
	m.follower = nil
}
