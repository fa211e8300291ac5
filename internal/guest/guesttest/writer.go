package guesttest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/postgres"
	"plimsoll/internal/wire"
)

// Writer writes the numbers from 1 on to a database, on one connection, each when the one before was acknowledged.
type Writer struct {
	conn *postgres.Conn
	done chan struct{}

	mu      sync.Mutex
	written int // the last number that was acknowledged
	at      time.Time
	stopped bool
	err     error
}

// Write begins to write to a database at an endpoint, over connections made by dial.
func Write(ctx context.Context, at load.Endpoint, dial func(ctx context.Context, network, address string) (net.Conn, error)) (*Writer, error) {
	target, err := wire.At(at)
	if err != nil {
		return nil, err
	}
	target.Connect = dial
	w := &Writer{done: make(chan struct{})}
	if w.conn, err = postgres.Dial(ctx, target, ""); err != nil {
		return nil, err
	}
	if err := w.conn.Exec(ctx, "CREATE TABLE writes (n int)"); err != nil {
		return nil, err
	}
	go func() {
		defer close(w.done)
		for n := 1; w.write(context.WithoutCancel(ctx), n); n++ { //nolint:revive // write does the work
		}
	}()
	return w, nil
}

// write writes a number. It is false after the last one.
func (w *Writer) write(ctx context.Context, n int) (more bool) {
	err := w.conn.Exec(ctx, fmt.Sprintf("INSERT INTO writes VALUES (%d)", n))
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err = err; err != nil {
		return false
	}
	w.written, w.at = n, time.Now()
	return !w.stopped
}

// Written is the last number that was acknowledged.
func (w *Writer) Written() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.written
}

// After waits for a write that is acknowledged after an instant, and returns the time between.
func (w *Writer) After(ctx context.Context, since time.Time) (time.Duration, error) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		w.mu.Lock()
		at, written, err := w.at, w.written, w.err
		w.mu.Unlock()
		if err != nil {
			return 0, fmt.Errorf("after %d writes: %w", written, err)
		}
		if at.After(since) {
			return at.Sub(since), nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return 0, fmt.Errorf("no write is acknowledged after %d: %w", written, context.Cause(ctx))
		}
	}
}

// Complete ends the writes. It is an error if the database lacks one that was acknowledged, or has one twice.
func (w *Writer) Complete(ctx context.Context) error {
	w.mu.Lock()
	w.stopped = true
	w.mu.Unlock()
	select {
	case <-w.done:
	case <-ctx.Done():
		return errors.Join(errors.New("the last write is not acknowledged"), context.Cause(ctx))
	}
	defer w.conn.Close()
	if w.err != nil {
		return w.err
	}
	rows, err := w.conn.Query(ctx, "SELECT n FROM writes ORDER BY n")
	if err != nil {
		return err
	}
	for i, row := range rows {
		if row[0] != strconv.Itoa(i+1) {
			return fmt.Errorf("row %d of the table is %s: a write is lost or there twice", i+1, row[0])
		}
	}
	if len(rows) != w.written {
		return fmt.Errorf("%d writes were acknowledged, and the table has %d", w.written, len(rows))
	}
	return nil
}
