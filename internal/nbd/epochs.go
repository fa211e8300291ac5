package nbd

import (
	"context"
	"fmt"
	"sync"
	"syscall"
)

const (
	blockSize = 4096
	// mostHeld is the size in bytes of an epoch from which writes wait for the next mark.
	mostHeld = 256 << 20
)

// epochs is a disk that buffers writes until their epoch is committed. Reads see them at once, and a flush returns at once. A commit performs
// what the epoch holds in its order, with its flushes, so that an interrupted one leaves a disk as after a loss of power.
type epochs struct {
	Device

	mu      sync.RWMutex
	through bool          // nothing is buffered
	open    *epoch        // of the requests that arrive
	marked  *epoch        // to be committed; nil for none
	dirty   bool          // something was written since the last flush
	admits  bool          // requests do not wait, whatever is held
	room    chan struct{} // closed when waiting requests may go on
	failed  error         // of a commit: what the client was told to be written is lost
}

// epoch is what was written between two marks.
type epoch struct {
	log    []Request
	blocks map[int64][]byte // contents by the number of the block
	bytes  int64
}

func newEpoch() *epoch { return &epoch{blocks: map[int64][]byte{}} }

func newEpochs(d Device) *epochs {
	return &epochs{Device: d, through: true, open: newEpoch(), room: make(chan struct{})}
}

// Do performs a read, and buffers anything else.
func (e *epochs) Do(ctx context.Context, r *Request) error {
	if r.Operation == Read {
		return e.read(ctx, r)
	}
	if err := e.admitted(ctx); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.failed != nil {
		return e.failed
	}
	if e.through {
		return e.Device.Do(ctx, r)
	}
	switch r.Operation {
	case Write, Zero:
		if err := e.cover(ctx, r); err != nil {
			return err
		}
	case Flush:
		e.flush()
		return nil
	}
	own := Request{Operation: r.Operation, Offset: r.Offset, Length: r.Length, Keep: r.Keep, Data: append([]byte(nil), r.Data...)}
	e.open.log = append(e.open.log, own)
	e.open.bytes += int64(len(own.Data))
	e.dirty = true
	if r.Durable {
		e.flush()
	}
	return nil
}

// admitted waits while the open epoch is full.
func (e *epochs) admitted(ctx context.Context) error {
	for {
		e.mu.RLock()
		full, room := e.open.bytes >= mostHeld && !e.admits && !e.through, e.room
		e.mu.RUnlock()
		if !full {
			return nil
		}
		select {
		case <-room:
		case <-ctx.Done():
			return syscall.ESHUTDOWN
		}
	}
}

// flush notes a flush, unless nothing was written since the last one.
func (e *epochs) flush() {
	if e.dirty {
		e.open.log = append(e.open.log, Request{Operation: Flush})
		e.dirty = false
	}
}

// cover changes the contents of blocks in the open epoch.
func (e *epochs) cover(ctx context.Context, r *Request) error {
	for at := r.Offset; at < r.Offset+r.Length; {
		n := at / blockSize
		first := at - n*blockSize
		end := min(first+r.Offset+r.Length-at, blockSize)
		b, err := e.block(ctx, n, end-first == blockSize)
		if err != nil {
			return err
		}
		if r.Operation == Zero {
			clear(b[first:end])
		} else {
			copy(b[first:end], r.Data[at-r.Offset:])
		}
		at += end - first
	}
	return nil
}

// block is a block of the open epoch, with what the disk has there unless all of it is overwritten.
func (e *epochs) block(ctx context.Context, n int64, whole bool) ([]byte, error) {
	if b := e.open.blocks[n]; b != nil {
		return b, nil
	}
	b := make([]byte, min(blockSize, e.Size()-n*blockSize))
	if old := e.held(n); old != nil {
		copy(b, old)
	} else if !whole {
		if err := e.Device.Do(ctx, &Request{Operation: Read, Offset: n * blockSize, Length: int64(len(b)), Data: b}); err != nil {
			return nil, err
		}
	}
	e.open.blocks[n] = b
	e.open.bytes += int64(len(b))
	return b, nil
}

// held is the last content of a block that is buffered; nil for none.
func (e *epochs) held(n int64) []byte {
	if b := e.open.blocks[n]; b != nil || e.marked == nil {
		return b
	}
	return e.marked.blocks[n]
}

// read reads from the disk, and what is buffered over it. A commit ends only after it.
func (e *epochs) read(ctx context.Context, r *Request) error {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.failed != nil {
		return e.failed
	}
	if err := e.Device.Do(ctx, r); err != nil {
		return err
	}
	for at := r.Offset; at < r.Offset+r.Length; {
		n := at / blockSize
		if b := e.held(n); b != nil {
			copy(r.Data[at-r.Offset:], b[at-n*blockSize:])
		}
		at = (n + 1) * blockSize
	}
	return nil
}

// obey follows an order.
func (e *epochs) obey(ctx context.Context, o Epoch) error {
	switch o {
	case AdmitEpoch:
		e.admit()
	case MarkEpoch:
		e.mark()
	case CommitEpoch:
		return e.commit(ctx)
	case DiscardEpoch:
		e.discard()
	case EndEpochs:
		return e.end(ctx)
	default:
		return fmt.Errorf("the order %q is unknown", o)
	}
	return nil
}

// admit ends the waiting of requests until the next mark: a client that stops waits for all of its requests.
func (e *epochs) admit() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.admits = true
	e.more()
}

// more wakes the requests that wait.
func (e *epochs) more() {
	close(e.room)
	e.room = make(chan struct{})
}

// mark ends the open epoch, and joins it to one that was marked and not committed.
func (e *epochs) mark() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.marked == nil {
		e.marked = e.open
	} else {
		e.marked.log = append(e.marked.log, e.open.log...)
		for n, b := range e.open.blocks {
			e.marked.blocks[n] = b
		}
	}
	e.open, e.through, e.admits = newEpoch(), false, false
	e.more()
}

// commit performs what is marked. Reads and writes go on meanwhile.
func (e *epochs) commit(ctx context.Context) error {
	e.mu.RLock()
	marked, err := e.marked, e.failed
	e.mu.RUnlock()
	if marked == nil || err != nil {
		return err
	}
	for _, r := range marked.log {
		if err = e.Device.Do(ctx, &r); err != nil {
			err = fmt.Errorf("commit to the disk: %s at %d: %w", r.Operation, r.Offset, err)
			break
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.marked, e.failed = nil, err
	return err
}

// discard forgets what is not committed.
func (e *epochs) discard() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open, e.marked = newEpoch(), nil
	e.dirty = true // what was flushed last is unknown
	e.more()
}

// end commits all, and buffers nothing from then on.
func (e *epochs) end(ctx context.Context) error {
	e.mark()
	if err := e.commit(ctx); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.open.log { // written meanwhile
		if err := e.Device.Do(ctx, &r); err != nil {
			e.failed = err
			return err
		}
	}
	e.open, e.through = newEpoch(), true
	e.more()
	return nil
}
