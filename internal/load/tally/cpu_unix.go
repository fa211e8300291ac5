//go:build unix

package tally

import (
	"syscall"
	"time"
)

// processCPU is the CPU time of this process, which makes the load and nothing else.
func processCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
