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

// elevate makes the other threads of the process real-time threads, as the measuring one is.
// Go's scheduler stops a goroutine every 10 ms or for a collection, and one that is
// locked to its thread goes on when another thread has come by to say so: on a busy
// machine that took up to half a second. They have little to do. The returned function
// puts them back.
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
