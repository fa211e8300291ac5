//go:build linux

package socket

import (
	"os"
	"strconv"
	"syscall"
	"unsafe"
)

// The policies of sched(7).
const (
	ordinary = 0
	realTime = 1 // SCHED_FIFO
)

// elevate makes the other threads of the process real-time threads like the measuring one.
// Go's scheduler preempts a goroutine every 10 ms and for a collection, and a locked one
// continues only after another thread has run: on a busy machine that took up to half a
// second. The returned function restores the priorities.
func elevate() (back func()) {
	change := func(from, to uintptr) {
		all, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return
		}
		for _, e := range all {
			id, err := strconv.Atoi(e.Name())
			if err != nil {
				continue
			}
			if policy, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_GETSCHEDULER, uintptr(id), 0, 0); errno == 0 && policy == from {
				priority := [1]int32{int32(to)} // the lowest of either policy has the number of it
				_, _, _ = syscall.RawSyscall(syscall.SYS_SCHED_SETSCHEDULER, uintptr(id), to, uintptr(unsafe.Pointer(&priority)))
			}
		}
	}
	change(ordinary, realTime)
	return func() { change(realTime, ordinary) }
}
