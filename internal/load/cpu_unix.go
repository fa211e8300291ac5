//go:build unix

package load

import (
	"syscall"
	"time"
)

// ProcessCPU is the CPU time of this process; 0 where it is not known.
func ProcessCPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
