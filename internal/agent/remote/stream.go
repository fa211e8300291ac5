package remote

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// window is the flow control window of a stream, in bytes: the sender waits for credit beyond
// it, so that no stream can fill the memory of its reader.
const window = 256 << 10

// end is one end of a stream, which callers may wait for.
type end struct {
	mu    sync.Mutex // guards the fields below, and the fields of inlet and outlet
	more  sync.Cond
	ended error // io.EOF is the stream's own end
	late  time.Time
	timer *time.Timer // wakes those who wait at that instant
}

// close ends the stream. Only io.EOF lets what has arrived be read first.
func (e *end) close(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended == nil {
		e.ended = err
		e.more.Broadcast()
	}
}

// setDeadline sets the instant at which a Read or a Write gives up; the zero time is never.
func (e *end) setDeadline(at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.due(at)
}

func (e *end) due(at time.Time) {
	if e.timer != nil {
		e.timer.Stop()
	}
	e.late, e.timer = time.Time{}, nil
	if !at.IsZero() {
		left := time.Until(at)
		e.late = time.Now().Add(left) // by the monotonic clock
		e.timer = time.AfterFunc(max(left, 0), e.wake)
	}
	e.more.Broadcast()
}

func (e *end) wake() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.more.Broadcast()
}

// expired is an error once the deadline has passed.
func (e *end) expired() error {
	if e.late.IsZero() || time.Now().Before(e.late) {
		return nil
	}
	return os.ErrDeadlineExceeded
}

// inlet is the receiving end of a stream.
type inlet struct {
	end
	credit func(n int) // acknowledges bytes to the sender

	data []byte
	used int // bytes at the front of data that were read
	room int // bytes that the sender may still send
	owed int // used bytes not yet acknowledged
}

func newInlet(credit func(n int)) *inlet {
	i := &inlet{credit: credit, room: window}
	i.more.L = &i.mu
	return i
}

// put adds bytes that have arrived. It never blocks.
func (i *inlet) put(p []byte) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(p) > i.room {
		return malformed("%d bytes of a stream that may send %d", len(p), i.room)
	}
	if i.ended != nil {
		if errors.Is(i.ended, io.EOF) {
			return malformed("bytes of a stream after its end")
		}
		return nil // the reader is gone
	}
	i.room -= len(p)
	if i.used == len(i.data) {
		i.data, i.used = i.data[:0], 0
	}
	i.data = append(i.data, p...)
	i.more.Broadcast()
	return nil
}

// drop ends the stream and discards unread bytes.
func (i *inlet) drop(err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.ended, i.data, i.used = err, nil, 0
	i.due(time.Time{})
}

// Read waits for bytes of the stream, and grants credit to the sender.
func (i *inlet) Read(p []byte) (int, error) {
	n, tell, err := i.read(p)
	if tell > 0 {
		i.credit(tell)
	}
	return n, err
}

func (i *inlet) read(p []byte) (n, tell int, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for i.used == len(i.data) && i.ended == nil && i.expired() == nil {
		i.more.Wait()
	}
	if err := i.expired(); err != nil {
		return 0, 0, err
	}
	if i.ended != nil && (i.used == len(i.data) || !errors.Is(i.ended, io.EOF)) {
		return 0, 0, i.ended
	}
	n = copy(p, i.data[i.used:])
	i.used += n
	i.owed += n
	if i.owed >= window/4 && i.ended == nil {
		tell, i.owed = i.owed, 0
		i.room += tell
	}
	return n, tell, nil
}

// outlet is the sending end of a stream.
type outlet struct {
	end
	send   func(p []byte) error
	credit int
}

func newOutlet(send func(p []byte) error) *outlet {
	o := &outlet{send: send, credit: window}
	o.more.L = &o.mu
	return o
}

// grant lets more bytes be sent.
func (o *outlet) grant(payload []byte) error {
	n := binary.BigEndian.Uint32(payload)
	o.mu.Lock()
	defer o.mu.Unlock()
	if n > uint32(window-o.credit) {
		return malformed("credit for %d bytes where %d are under way", n, window-o.credit)
	}
	o.credit += int(n)
	o.more.Broadcast()
	return nil
}

// take waits until at least one byte may be sent.
func (o *outlet) take(wanted int) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.credit == 0 && o.ended == nil && o.expired() == nil {
		o.more.Wait()
	}
	if o.ended != nil {
		return 0, o.ended
	}
	if err := o.expired(); err != nil {
		return 0, err
	}
	n := min(wanted, chunk, o.credit)
	o.credit -= n
	return n, nil
}

// Write sends as the receiver allows.
func (o *outlet) Write(p []byte) (int, error) {
	sent := 0
	for sent < len(p) {
		n, err := o.take(len(p) - sent)
		if err == nil {
			err = o.send(p[sent : sent+n])
		}
		if err != nil {
			return sent, err
		}
		sent += n
	}
	return sent, nil
}
