package events

import (
	"encoding/json"
	"sync"
	"time"

	"plimsoll/internal/trial"
)

// heartbeat is the longest time between two lines while nothing is reported.
const heartbeat = 10 * time.Second

// Output takes lines.
type Output interface {
	// Append adds a line. One that fails is made anew with the next one.
	Append(line []byte) error
	// Every is the time between two lines.
	Every() time.Duration
}

// Log writes the events of a run to an output. Nothing is written before the first event.
type Log struct {
	run Run
	out Output

	mu      sync.Mutex
	fold    fold
	began   bool // the first event was taken
	closed  bool
	stop    chan struct{}
	writing sync.WaitGroup

	introduced bool // the run is in a line
	last       time.Time
}

// NewLog returns the log of a run.
func NewLog(run Run, out Output) *Log { return &Log{run: run, out: out, stop: make(chan struct{})} }

// Take adds an event. It waits for no output, and may be called by several goroutines.
func (l *Log) Take(e trial.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.fold.take(e, time.Now())
	if !l.began {
		l.began = true
		l.writing.Go(l.write)
	}
}

// Close writes what is left, and returns when nothing writes any more.
func (l *Log) Close() {
	l.mu.Lock()
	again := l.closed
	l.closed = true
	l.mu.Unlock()
	if !again {
		close(l.stop)
	}
	l.writing.Wait()
}

// write writes lines until the log is closed.
func (l *Log) write() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			l.flush()
			timer.Reset(l.out.Every())
		case <-l.stop:
			for l.flush() { // until every trial is told
			}
			return
		}
	}
}

// flush writes a line, if there is something to say. It reports whether more trials are waiting to be told.
func (l *Log) flush() (more bool) {
	now := time.Now()
	l.mu.Lock()
	if !l.fold.fresh && len(l.fold.ended) == 0 && (l.closed || now.Sub(l.last) < heartbeat) {
		l.mu.Unlock()
		return false
	}
	p := l.fold.cut()
	more = len(l.fold.ended) > 0
	l.mu.Unlock()

	line := p.line(now)
	if !l.introduced {
		line.Run = &l.run
	}
	l.last = now
	if l.out.Append(encoded(line)) != nil {
		l.mu.Lock()
		l.fold.restore(p)
		l.mu.Unlock()
		return false
	}
	l.introduced = true
	return more
}

// encoded is a line as text, with its end.
func encoded(l Line) []byte {
	text, err := json.Marshal(l)
	if err != nil { // a value that JSON cannot hold
		text, _ = json.Marshal(Line{Time: l.Time, Elapsed: l.Elapsed, Phase: l.Phase, Trial: l.Trial, Ended: l.Ended, Notes: l.Notes})
	}
	return append(text, '\n')
}

// header is the first line of an output.
func header(program string) []byte {
	return encoded(Line{Format: Format, Version: Version, Plimsoll: program, Time: time.Now().UTC().Truncate(time.Millisecond)})
}
