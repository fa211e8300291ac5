//go:build linux

package socket

import (
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// The policies of sched(7).
const (
	other      = 0 // SCHED_OTHER
	fifo       = 1 // SCHED_FIFO
	roundRobin = 2 // SCHED_RR: one that computes for long does not keep the others from their CPU for good

	resetOnFork = 0x40000000 // servers and other programs that a thread starts are ordinary
)

// elevation is how many loads need the threads of the process to be real-time threads.
type elevation struct {
	mu    sync.Mutex
	loads int
	stop  chan struct{}
	ended chan struct{}
}

var raised elevation

// elevate makes the other threads of the process real-time threads like the measuring one,
// also those that it starts meanwhile. Go's scheduler preempts a goroutine every 10 ms and for
// a collection, and a locked one continues only after another thread has run: on a busy machine
// that took up to half a second. The returned function restores the priorities, once no load
// needs them.
func elevate() (back func()) {
	e := &raised
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.loads++; e.loads == 1 {
		e.stop, e.ended = make(chan struct{}), make(chan struct{})
		change(other, roundRobin)
		go e.keep(e.stop, e.ended)
	}
	return sync.OnceFunc(e.back)
}

// keep raises new threads.
func (e *elevation) keep(stop, ended chan struct{}) {
	const pause = 500 * time.Millisecond
	defer close(ended)
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			change(other, roundRobin)
		}
	}
}

func (e *elevation) back() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.loads--; e.loads == 0 {
		close(e.stop)
		<-e.ended
		change(roundRobin, other)
	}
}

// change gives all threads of the process with a policy another one.
func change(from, to uintptr) {
	all, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, e := range all {
		id, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if policy, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_GETSCHEDULER, uintptr(id), 0, 0); errno == 0 && policy&^resetOnFork == from {
			_ = schedule(id, to)
		}
	}
}

// schedule gives a thread a policy, 0 being the caller's, at the lowest priority of it.
func schedule(thread int, policy uintptr) syscall.Errno {
	priority := [1]int32{} // struct sched_param
	if policy != other {
		priority[0] = 1
		policy |= resetOnFork
	}
	_, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_SETSCHEDULER, uintptr(thread), policy, uintptr(unsafe.Pointer(&priority)))
	return errno
}
