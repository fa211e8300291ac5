// Package pages copies what changed in the memory of a guest, page by page, in two steps: Take while the guest is stopped, and Commit
// when all of its state has been taken. A copy between two commits is that of the last one.
package pages

import (
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Size is the number of bytes of a page.
const Size = 4096

// chunk is the part of the memory, in pages, that one thread compares at a time.
const chunk = 1024

// mostThreads bounds the threads that compare: a few use all of the bandwidth of memory.
const mostThreads = 8

// Target has the copy of a guest's memory.
type Target interface {
	// Touched are the pages that others have written, of all that it has.
	Touched() (written []int, of int, err error)
	// Put writes a page, which is valid until Put returns. Flush ends the pages of a commit.
	Put(page int, data []byte) error
	Flush() error
	Close() error
}

// Copy keeps a target equal to the memory of a guest, which is a file. It finds the pages that changed by comparing, of all pages or, after
// Track, of those that were written. It takes as much memory as the guest has touched, in addition to both. It is not
// safe for concurrent use.
type Copy struct {
	source  *os.File
	from    []byte // the source
	to      Target
	mirror  []byte  // what was taken last
	held    bitset  // pages of the mirror that may differ from zero
	pending bitset  // pages that were taken and not committed
	marked  *marked // nil where all pages are compared
	whole   bool    // the next call of Take compares all pages
}

// New copies the memory of a guest, a file of whole pages, to a target of that size, which the copy closes.
func New(from *os.File, to Target) (c *Copy, err error) {
	c = &Copy{source: from, to: to}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
			c = nil
		}
	}()
	written, all, err := to.Touched()
	if err != nil {
		return c, err
	}
	info, err := from.Stat()
	if err != nil {
		return c, err
	}
	size := all * Size
	if info.Size() != int64(size) || size == 0 {
		return c, fmt.Errorf("copy the memory of a guest: %d bytes to %d: both must be as many whole pages", info.Size(), size)
	}
	c.held, c.pending = newBitset(all), newBitset(all)
	for _, page := range written {
		if page < 0 || page >= all {
			return c, fmt.Errorf("copy the memory of a guest: its standby has written page %d of %d", page, all)
		}
		c.pending.set(page)
	}
	if c.from, err = mapped(from, size, unix.PROT_READ); err != nil {
		return c, err
	}
	if c.mirror, err = unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE); err != nil {
		return c, fmt.Errorf("reserve memory for a copy of a guest's: %w", err)
	}
	return c, nil
}

func mapped(f *os.File, size, access int) ([]byte, error) {
	m, err := unix.Mmap(int(f.Fd()), 0, size, access, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map the memory of a guest: %w", err)
	}
	return m, nil
}

// Take takes the pages that changed since the last call, and returns their number. The guest must not run meanwhile.
func (c *Copy) Take() (changed int, err error) {
	parts, err := c.parts()
	if err != nil {
		return 0, err
	}
	written, err := c.written()
	if err != nil {
		return 0, err
	}
	var next, all atomic.Int64
	c.parallel(func() {
		for {
			i := int(next.Add(1)) - 1
			if i >= len(parts) {
				return
			}
			all.Add(int64(c.compare(parts[i], written)))
		}
	})
	return int(all.Load()), nil
}

// written are the pages to compare; nil for all.
func (c *Copy) written() (bitset, error) {
	if c.marked == nil {
		return nil, nil
	}
	written, err := c.marked.take(len(c.mirror) / Size)
	if err != nil || c.whole {
		c.whole = err != nil // what was written since is unknown
		return nil, err
	}
	return written, nil
}

// part is a range of pages that have data in the source, or none.
type part struct {
	first, end int
	hole       bool
}

// parts divides the source into ranges for threads. Reading a hole would fill it, so that holes are told apart. A part lies within
// one word of all bitsets at each end.
func (c *Copy) parts() (all []part, err error) {
	pages := len(c.mirror) / Size
	data, err := touched(c.source, pages)
	if err != nil {
		return nil, err
	}
	for first := 0; first < pages; first += chunk {
		end := min(first+chunk, pages)
		for at := first; at < end; {
			hole := !data.has(at)
			upTo := at + 1
			for upTo < end && data.has(upTo) != hole {
				upTo++
			}
			all = append(all, part{at, upTo, hole})
			at = upTo
		}
	}
	return all, nil
}

// touched are the pages of a file that have data.
func touched(f *os.File, pages int) (data bitset, err error) {
	data = newBitset(pages)
	for at := int64(0); ; {
		from, err := unix.Seek(int(f.Fd()), at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return data, nil
		}
		if err == nil {
			at, err = unix.Seek(int(f.Fd()), from, unix.SEEK_HOLE)
		}
		if err != nil {
			return nil, fmt.Errorf("find the memory that a guest has touched: %w", err)
		}
		data.setRange(int(from/Size), int((at+Size-1)/Size))
	}
}

var zero [Size]byte

// compare takes the changed pages of a part, of those that were written.
func (c *Copy) compare(p part, written bitset) (changed int) {
	for i := p.first; i < p.end; i++ {
		if written != nil && !p.hole && !written.has(i) {
			continue
		}
		old, now := c.mirror[i*Size:][:Size], zero[:]
		if !p.hole {
			now = c.from[i*Size:][:Size]
		} else if !c.held.has(i) {
			continue
		}
		if string(old) == string(now) {
			continue
		}
		copy(old, now)
		c.held.set(i)
		c.pending.set(i)
		changed++
	}
	return changed
}

// Commit writes all pages that were taken, and returns their number. After an error the target has some of them.
func (c *Copy) Commit() (written int, err error) {
	for i := range c.pending.all() {
		if err := c.to.Put(i, c.mirror[i*Size:][:Size]); err != nil {
			return written, err
		}
		written++
	}
	if err := c.to.Flush(); err != nil {
		return written, err
	}
	for w := range c.pending {
		c.pending[w].Store(0)
	}
	return written, nil
}

// Close gives the mappings back, and closes the target.
func (c *Copy) Close() (err error) {
	if c.marked != nil {
		err = c.marked.close()
		c.marked = nil
	}
	for _, m := range []*[]byte{&c.from, &c.mirror} {
		if *m != nil {
			err = errors.Join(err, unix.Munmap(*m))
			*m = nil
		}
	}
	return errors.Join(err, c.to.Close())
}

// parallel runs a function on some threads at once.
func (c *Copy) parallel(do func()) {
	var done sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), mostThreads) {
		done.Go(do)
	}
	done.Wait()
}

// bitset is a set of small numbers. Several goroutines may set different numbers.
type bitset []atomic.Uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (b bitset) has(i int) bool { return b[i/64].Load()>>(i%64)&1 != 0 }

func (b bitset) set(i int) { b[i/64].Or(1 << (i % 64)) }

func (b bitset) setRange(first, end int) {
	for i := first; i < end && i < 64*len(b); i++ {
		b.set(i)
	}
}

// all are the numbers, in order.
func (b bitset) all() iter.Seq[int] {
	return func(yield func(int) bool) {
		for w := range b {
			for v := b[w].Load(); v != 0; v &= v - 1 {
				if !yield(64*w + bits.TrailingZeros64(v)) {
					return
				}
			}
		}
	}
}
