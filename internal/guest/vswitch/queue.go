package vswitch

import "sync"

// queue holds frames for a slow reader, and drops frames beyond a limit in bytes. The reader
// takes all at once. Two buffers alternate, so that nothing is allocated once they have grown.
type queue struct {
	limit int

	mu      sync.Mutex
	filled  sync.Cond
	waiting []byte
	items   int
	idle    bool // the reader sleeps, and no wake-up is pending
	closed  bool
}

func newQueue(limit int) *queue {
	q := &queue{limit: limit}
	q.filled.L = &q.mu
	return q
}

// put adds an item, or refuses it. If it returns wake, the caller must call wake, after
// further items.
func (q *queue) put(item []byte) (ok, wake bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || len(q.waiting)+len(item) > q.limit {
		return false, false
	}
	q.waiting = append(q.waiting, item...)
	q.items++
	wake = q.idle
	q.idle = false
	return true, wake
}

// wake wakes the reader.
func (q *queue) wake() { q.filled.Signal() }

// take waits for frames and takes all, in exchange for the spare buffer. A closed queue
// returns the rest, and then nothing.
func (q *queue) take(spare []byte) (batch []byte, items int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) == 0 && !q.closed {
		q.idle = true
		q.filled.Wait()
	}
	q.idle = false
	batch, items = q.waiting, q.items
	q.waiting, q.items = spare[:0], 0
	return batch, items
}

// close rejects further frames.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.filled.Broadcast()
}
