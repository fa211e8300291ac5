package program

import (
	"context"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// burn uses CPUs, all of the time or a part of it.
func burn(ctx context.Context, o options) error {
	runtime.GOMAXPROCS(max(o.threads, runtime.NumCPU()))
	for range o.threads {
		go func() {
			runtime.LockOSThread()
			for {
				if o.work > 0 {
					spin(o.work)
					time.Sleep(o.pause)
				} else {
					spin(time.Second)
				}
			}
		}()
	}
	<-ctx.Done()
	return nil
}

// thrash streams through memory with all threads, larger than caches.
func thrash(ctx context.Context, o options) error {
	var t tally
	for range o.threads {
		go func() {
			runtime.LockOSThread()
			stream(o.stream, func() bool {
				t.add(chunk)
				return ctx.Err() == nil
			})
		}()
	}
	return t.print(ctx, os.Stdout)
}

// chunk is the number of bytes after which a stream asks whether to go on.
const chunk = 1 << 20

// stream changes so many MiB of memory, a cache line after the other, over and over while next answers true.
func stream(mebibytes int, next func() bool) {
	lines := anonymous(mebibytes << 20 / lineBytes)
	for {
		for part := range slices.Chunk(lines, chunk/lineBytes) {
			for i := range part {
				part[i].next++
			}
			if !next() {
				return
			}
		}
	}
}

// lookup reads memory at random places, each of which the one before leads to.
func lookup(ctx context.Context, o options) error {
	var t tally
	var ready sync.WaitGroup
	ready.Add(o.threads)
	for i := range o.threads {
		go func() {
			runtime.LockOSThread()
			next := cycle(int(o.size*(1<<20))/lineBytes, uint64(i))
			ready.Done()
			ready.Wait()
			const batch = 10_000
			for at := uint32(0); ctx.Err() == nil; {
				for range batch {
					at = next[at].next
				}
				sink.Store(uint64(at))
				t.add(batch)
				if o.rate > 0 {
					time.Sleep(time.Duration(batch * float64(o.threads) / o.rate * float64(time.Second)))
				}
			}
		}()
	}
	ready.Wait()
	return t.print(ctx, os.Stdout)
}

// line is a cache line.
type line struct {
	next uint32
	_    [lineBytes - 4]byte
}

const lineBytes = 64

// cycle is one random cycle through all lines, by Sattolo's algorithm.
func cycle(n int, seed uint64) []line {
	lines := anonymous(n)
	random := rand.New(rand.NewPCG(seed, 1))
	for i := range lines {
		lines[i].next = uint32(i)
	}
	for i := n - 1; i > 0; i-- {
		j := random.IntN(i)
		lines[i].next, lines[j].next = lines[j].next, lines[i].next
	}
	return lines
}

func anonymous(n int) []line {
	memory, err := mapped(n * lineBytes)
	if err != nil {
		return make([]line, n)
	}
	return unsafe.Slice((*line)(unsafe.Pointer(&memory[0])), n)
}

// phases computes in phases: all threads share the work of one and wait, spinning, until the others have
// done theirs, as programs with OpenMP do.
func phases(ctx context.Context, o options) error {
	runtime.GOMAXPROCS(o.threads + 1)
	var t tally
	var arrived, phase atomic.Int64
	for range o.threads {
		go func() {
			runtime.LockOSThread()
			for ctx.Err() == nil {
				now := phase.Load()
				labour(o.work / time.Duration(o.threads))
				if arrived.Add(1) == int64(o.threads) {
					arrived.Store(0)
					t.add(1)
					phase.Add(1)
					continue
				}
				for phase.Load() == now && ctx.Err() == nil {
				}
			}
		}()
	}
	return t.print(ctx, os.Stdout)
}
