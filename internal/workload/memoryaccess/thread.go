package memoryaccess

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"time"
)

const (
	line  = 64      // bytes of a cache line, and of a link of a chain
	piece = 1 << 20 // bytes accessed between two looks at the context
	mark  = 0xff    // the last byte of each block of sequential accesses, and no other byte
)

var errWrong = errors.New("the memory holds wrong data")

// thread accesses a working set of its own, a block at a time.
type thread struct {
	mu     sync.Mutex // held while the set is accessed: it is unmapped when the load ends
	access string
	set    []byte
	pages  string // advice in effect
	block  int
	at     int // of the next block, or of the next link

	loads   int64 // dependent loads so far
	loading time.Duration
	closed  func()
}

// newThread maps a working set and writes all of it, so that no page fault is measured.
// The set is no part of the Go heap: its page size is that of the system's setting for
// transparent huge pages, and garbage collection does not see it.
func newThread(p Parameters, seed uint64) (*thread, error) {
	size := int(p.WorkingSet)
	set, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		return nil, fmt.Errorf("map a working set of %s: %w", p.WorkingSet, err)
	}
	t := &thread{access: p.Access, set: set, block: int(p.Block), closed: func() {}}
	if t.pages, err = advise(set, p.Pages); err != nil {
		return nil, errors.Join(err, syscall.Munmap(set))
	}
	if t.access == "chase" {
		t.link(rand.New(rand.NewPCG(seed, 0)))
	} else {
		t.fill()
	}
	return t, nil
}

// fill writes the source of sequential accesses, and zeros over the target of copies.
func (t *thread) fill() {
	source := t.set[:t.source()]
	for i := range source {
		source[i] = byte(i/line)%(mark-1) + 1
	}
	for end := t.block; end <= len(source); end += t.block {
		source[end-1] = mark
	}
	clear(t.set[len(source):])
}

// source is the size of the part of the set that sequential accesses read.
func (t *thread) source() int {
	if t.access == "copy" {
		return len(t.set) / 2
	}
	return len(t.set)
}

// link makes one cycle of all lines, in random order: each holds the index of the next
// and its own rank in the cycle.
func (t *thread) link(rng *rand.Rand) {
	order := make([]uint32, len(t.set)/line)
	for i := range order {
		order[i] = uint32(i)
	}
	rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for rank, index := range order {
		t.put(int(index), 0, uint64(order[(rank+1)%len(order)]))
		t.put(int(index), 1, uint64(rank))
	}
	t.at = int(order[0])
}

func (t *thread) get(index, word int) uint64 {
	return binary.NativeEndian.Uint64(t.set[index*line+8*word:])
}

func (t *thread) put(index, word int, value uint64) {
	binary.NativeEndian.PutUint64(t.set[index*line+8*word:], value)
}

// Call accesses one block. Data that is not as it was written is an error.
func (t *thread) Call(ctx context.Context) (class int, size int64, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.access != "chase" && t.at+t.block > t.source() {
		t.at = 0
	}
	for size < int64(t.block) {
		if ctx.Err() != nil {
			return 0, size, context.Cause(ctx)
		}
		n := min(piece, t.block-int(size))
		last := size+int64(n) == int64(t.block)
		switch t.access {
		case "chase":
			err = t.chase(n / line)
		case "copy":
			err = t.copy(n, last)
		default:
			err = t.read(n, last)
		}
		if err != nil {
			return 0, size, err
		}
		size += int64(n)
	}
	return 0, size, nil
}

func (t *thread) chase(steps int) error {
	begin := time.Now()
	at := t.at
	for range steps {
		at = int(binary.NativeEndian.Uint64(t.set[at*line:]))
	}
	t.at = at
	t.loading += time.Since(begin)
	t.loads += int64(steps)
	if got, want := t.get(at, 1), uint64(t.loads)%uint64(len(t.set)/line); got != want {
		return fmt.Errorf("%w: load %d of the chain reached rank %d instead of %d", errWrong, t.loads, got, want)
	}
	return nil
}

// read searches for the mark, which is the last byte of the last piece of a block.
func (t *thread) read(size int, last bool) error {
	want := -1
	if last {
		want = size - 1
	}
	if at := bytes.IndexByte(t.set[t.at:t.at+size], mark); at != want {
		return fmt.Errorf("%w: the mark of a block is at %d instead of %d", errWrong, at, want)
	}
	t.at += size
	return nil
}

func (t *thread) copy(size int, last bool) error {
	from := t.set[t.at : t.at+size]
	to := t.set[t.source()+t.at:][:size]
	copy(to, from)
	if to[0] != from[0] || (to[size-1] == mark) != last {
		return fmt.Errorf("%w: a copy of %d bytes is wrong", errWrong, size)
	}
	t.at += size
	return nil
}

// Close unmaps the working set.
func (t *thread) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed()
	return syscall.Munmap(t.set)
}
