package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"plimsoll/internal/guest/coresched"
)

const (
	slotStride = 64 // bytes, a line of the cache for each CPU
	slotBytes  = 1 << 16
	unitSteps  = 1000 // of a unit of work
	// longest is how long a unit of work may take to be a sample: longer ones were interrupted.
	longest = 300 // us
)

// Done is what threads did and saw.
type Done struct {
	Work          int64   // units
	Due, Finished int64   // portions of work below saturation
	Response      float64 // seconds from due to finished, in total
	Busy          int64   // samples in which the other thread of the core was at work
	Foreign       int64   // of them, with another group
}

func (d Done) plus(o Done) Done {
	return Done{d.Work + o.Work, d.Due + o.Due, d.Finished + o.Finished, d.Response + o.Response, d.Busy + o.Busy, d.Foreign + o.Foreign}
}

// worker is a thread of a group.
type worker struct {
	slots      []byte
	sibling    map[int]int
	group      uint64
	begin, end int64   // us
	rate       float64 // units per second; 0 without limit
	offset     int64   // us, of its portions in the period
	stamped    int     // the CPU of its last stamp
	at         int64   // us, of its last stamp
	done       Done
	seed       uint64
}

// work is the process of a group: FILE GROUP THREADS RATE WINDOW. It reads when to begin, and prints what was done.
func work(args []string) error {
	var number, threads int
	var rate float64
	if len(args) != 5 {
		return errors.New("work takes FILE GROUP THREADS RATE WINDOW")
	}
	if _, err := fmt.Sscan(args[1]+" "+args[2]+" "+args[3], &number, &threads, &rate); err != nil {
		return err
	}
	window, err := time.ParseDuration(args[4])
	if err != nil {
		return err
	}
	slots, err := shared(args[0])
	if err != nil {
		return err
	}
	runtime.GOMAXPROCS(threads + 1)
	siblings, err := siblings()
	if err != nil {
		return err
	}
	workers := make([]*worker, threads)
	var ready, all sync.WaitGroup
	start := make(chan struct{})
	ready.Add(threads)
	for i := range workers {
		w := &worker{slots: slots, sibling: siblings, group: uint64(number), rate: rate, offset: int64(number*threads+i) * 2311 % period.Microseconds(), seed: uint64(i + 1)}
		workers[i] = w
		all.Go(func() {
			runtime.LockOSThread()
			ready.Done()
			<-start
			w.run()
		})
	}
	ready.Wait()
	fmt.Println("ready")
	var begin int64
	if _, err := fmt.Scan(&begin); err != nil {
		return fmt.Errorf("read when to begin: %w", err)
	}
	for _, w := range workers {
		w.begin, w.end = begin, begin+window.Microseconds()
	}
	close(start)
	all.Wait()
	var d Done
	for _, w := range workers {
		d = d.plus(w.done)
	}
	if err := json.NewEncoder(os.Stdout).Encode(d); err != nil {
		return err
	}
	fmt.Scanln() //nolint:errcheck // the end of its input: until then its threads are looked at
	return nil
}

// shared maps the file with the stamps of all groups.
func shared(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // the mapping stays
	return unix.Mmap(int(f.Fd()), 0, slotBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

// siblings has for each CPU the other thread of its core.
func siblings() (map[int]int, error) {
	h, err := coresched.ThisHost()
	other := map[int]int{}
	for _, c := range h.Cores {
		if len(c) == 2 {
			other[c[0]], other[c[1]] = c[1], c[0]
		}
	}
	return other, err
}

func (w *worker) run() {
	sleep(w.begin)
	if w.rate == 0 {
		for now() < w.end {
			w.unit()
		}
		w.rest()
		return
	}
	portion := max(1, int(w.rate*period.Seconds()))
	for due := w.begin + w.offset; due < w.end; due += period.Microseconds() {
		w.done.Due++
		if now() < due {
			w.rest()
			sleep(due)
		}
		for range portion {
			if now() >= w.end {
				break
			}
			w.unit()
		}
		if at := now(); at < w.end {
			w.done.Finished++
			w.done.Response += float64(at-due) / 1e6
		}
	}
	w.rest()
}

// unit does a unit of work, then leaves a stamp and looks whether the other thread of the core has left one meanwhile.
func (w *worker) unit() {
	for range unitSteps {
		w.seed = w.seed*6364136223846793005 + 1442695040888963407
	}
	w.done.Work++
	cpu, at := processor(), now()
	whole, begun := cpu == w.stamped && at-w.at <= longest, w.at
	w.stamped, w.at = cpu, at
	w.slot(cpu).Store(uint64(at)<<8 | w.group)
	other, paired := w.sibling[cpu]
	if !paired || !whole {
		return
	}
	stamp := w.slot(other).Load()
	if int64(stamp>>8) <= begun { // it did no work meanwhile
		return
	}
	w.done.Busy++
	if stamp&0xff != w.group {
		w.done.Foreign++
	}
}

// rest takes back the last stamp, if it is still there.
func (w *worker) rest() {
	w.at = 0
	last := w.slot(w.stamped)
	if stamp := last.Load(); stamp&0xff == w.group {
		last.CompareAndSwap(stamp, 0)
	}
}

func (w *worker) slot(cpu int) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&w.slots[cpu*slotStride]))
}

// now is the time in microseconds, the same for all processes.
func now() int64 { return time.Now().UnixMicro() }

// sleep sleeps until a time, on the thread's own.
func sleep(until int64) {
	for left := until - now(); left > 0; left = until - now() {
		t := unix.NsecToTimespec(left * 1000)
		unix.Nanosleep(&t, nil) //nolint:errcheck // it looks at the time again
	}
}

// processor is the CPU that the thread runs on.
func processor() int {
	var cpu uint32
	unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0) //nolint:errcheck // it has no way to fail
	return int(cpu)
}
