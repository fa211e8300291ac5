package program

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"slices"
	"sync/atomic"
	"time"
)

// survey prints the size of memory, in KiB, at which lookups lose most time to threads that stream through memory.
// It looks at sizes from the one of the settings on, each twice as large as the one before, up to the limit in MiB.
// Where no size loses a tenth, as on a machine with other work, it is twice the first one.
func survey(ctx context.Context, o options) error {
	runtime.GOMAXPROCS(o.threads + 1)
	var on atomic.Bool
	for range o.threads {
		go func() {
			runtime.LockOSThread()
			stream(o.stream, func() bool {
				for !on.Load() {
					time.Sleep(time.Millisecond)
				}
				return true
			})
		}()
	}
	runtime.LockOSThread()
	const tenth = 1.1
	best, most := 2*o.size, 1.0
	for size := o.size; size <= max(o.size, float64(o.limit)) && ctx.Err() == nil; size *= 2 {
		lines := cycle(int(size*(1<<20))/lineBytes, 1)
		on.Store(false)
		without := walk(lines)
		on.Store(true)
		if worse := walk(lines) / without; worse > most*tenth {
			best, most = size, worse
		}
	}
	_, err := fmt.Println(int(best * 1024))
	return err
}

// walk is the median time of a lookup, in nanoseconds, without what the first ones take.
func walk(lines []line) float64 {
	const batch, long = 2_000, 400 * time.Millisecond
	var each []float64
	at := uint32(0)
	for began := time.Now(); time.Since(began) < long; {
		start := time.Now()
		for range batch {
			at = lines[at].next
		}
		if time.Since(began) > long/4 {
			each = append(each, float64(time.Since(start))/batch)
		}
	}
	sink.Store(uint64(at))
	return middle(each)
}

// toll prints the median time, in nanoseconds, that a small datagram takes the CPU that sends it. On a pair of virtual
// devices that includes its way through the receiver's protocols.
func toll(ctx context.Context, o options) error {
	conn, err := net.Dial("udp", o.to)
	if err != nil {
		return err
	}
	defer conn.Close()
	const batch, long = 50, 500 * time.Millisecond
	var each []float64
	data := make([]byte, 64)
	for began := time.Now(); time.Since(began) < long && ctx.Err() == nil; {
		start := time.Now()
		for range batch {
			_, _ = conn.Write(data) // lost where nobody listens
		}
		each = append(each, float64(time.Since(start))/batch)
	}
	_, err = fmt.Println(int(middle(each)))
	return err
}

// middle is the median of values of which there is at least one.
func middle(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
