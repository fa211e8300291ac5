package events

import (
	"io"
	"sync"
	"time"
)

// Stream is an output for the events of one run after another. It ends with the first error.
type Stream struct {
	to      io.Writer
	program string

	mu   sync.Mutex
	told bool // the first line
	err  error
}

// NewStream writes events to a writer, with the version of plimsoll.
func NewStream(to io.Writer, program string) *Stream { return &Stream{to: to, program: program} }

// Every is the time between two lines.
func (s *Stream) Every() time.Duration { return every }

// Append adds a line. It reports no error: Err does.
func (s *Stream) Append(line []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return nil
	}
	if !s.told {
		line = append(header(s.program), line...)
	}
	s.told = true
	_, s.err = s.to.Write(line)
	return nil
}

// Note adds a message that belongs to no run.
func (s *Stream) Note(phase, text string) {
	_ = s.Append(encoded(Line{Time: time.Now().UTC().Truncate(time.Millisecond), Phase: phase, Notes: []Note{{phase, shortened(text)}}}))
}

// Err is why the stream ended before its time.
func (s *Stream) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}
