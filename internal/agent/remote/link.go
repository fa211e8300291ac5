package remote

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

const (
	usualBeat    = time.Second
	usualSilence = 10 * time.Second
	// Endless is the silence of connections that fail by themselves when the other side is
	// gone, and may stall before that.
	Endless = 365 * 24 * time.Hour
)

// link is a connection of either side. Its reader never writes and blocks only on the
// connection, so that two sides cannot deadlock.
type link struct {
	conn io.ReadWriteCloser
	in   *bufio.Reader
	ctx  context.Context // done when the connection has ended, with the cause
	end  context.CancelCauseFunc

	beat, silence time.Duration
	heard         atomic.Int64 // when the last frame was complete, as the time since began
	began         time.Time

	mu  sync.Mutex // guards the fields below and writing
	buf []byte
}

func newLink(ctx context.Context, conn io.ReadWriteCloser, beat, silence time.Duration) *link {
	if beat <= 0 {
		beat = usualBeat
	}
	if silence <= 0 {
		silence = usualSilence
	}
	l := &link{conn: conn, in: bufio.NewReaderSize(conn, 64<<10), beat: beat, silence: silence, began: time.Now()}
	l.ctx, l.end = context.WithCancelCause(ctx)
	context.AfterFunc(l.ctx, func() { _ = conn.Close() }) // wakes the reader and writers
	return l
}

// send writes one frame. An error ends the connection.
func (l *link) send(f frame) error {
	if len(f.payload) > mostPayload {
		return fmt.Errorf("a message of %d bytes is too long: the maximum is %d", len(f.payload), mostPayload)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil {
		return context.Cause(l.ctx)
	}
	l.buf = appendFrame(l.buf[:0], f)
	if _, err := l.conn.Write(l.buf); err != nil {
		l.end(fmt.Errorf("write to the connection: %w", err))
		return context.Cause(l.ctx)
	}
	return nil
}

// sendJSON writes one frame with an encoded payload.
func (l *link) sendJSON(k kind, call uint32, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	return l.send(frame{k, call, text})
}

// credit returns a function that grants the other side of a call more bytes.
func (l *link) credit(call uint32) func(int) {
	return func(n int) {
		_ = l.send(frame{kindCredit, call, binary.BigEndian.AppendUint32(nil, uint32(n))})
	}
}

// data sends bytes of a call's stream.
func (l *link) data(call uint32) func([]byte) error {
	return func(p []byte) error { return l.send(frame{kindData, call, p}) }
}

// live exchanges frames until the connection ends, and returns why it did.
func (l *link) live(take func(frame) error) error {
	l.heard.Store(int64(time.Since(l.began)))
	var done sync.WaitGroup
	done.Go(l.pulse)
	done.Go(l.listen)
	defer done.Wait()
	for {
		f, err := readFrame(l.in)
		if err == nil {
			l.heard.Store(int64(time.Since(l.began)))
			err = take(f)
		}
		if err != nil {
			l.end(err) // an earlier cause stays
			return context.Cause(l.ctx)
		}
	}
}

// pulse sends keepalives.
func (l *link) pulse() {
	tick := time.NewTicker(l.beat)
	defer tick.Stop()
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-tick.C:
			_ = l.send(frame{kind: kindBeat})
		}
	}
}

// errSilent is the end of a connection without keepalives.
var errSilent = errors.New("no data from the other side")

// listen ends a connection without keepalives.
func (l *link) listen() {
	tick := time.NewTicker(max(l.silence/8, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-tick.C:
			if quiet := time.Since(l.began) - time.Duration(l.heard.Load()); quiet > l.silence {
				l.end(fmt.Errorf("%w for %s", errSilent, quiet.Round(100*time.Millisecond)))
				return
			}
		}
	}
}

// decode reads the JSON payload of a frame.
func decode(f frame, value any) error {
	if err := json.Unmarshal(f.payload, value); err != nil {
		return malformed("kind %d for call %d: %v", f.kind, f.call, err)
	}
	return nil
}
