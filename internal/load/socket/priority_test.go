//go:build linux

package socket

import (
	"os"
	"strconv"
	"syscall"
	"testing"
)

// All threads of the process are real-time threads while a schedule is kept, and none
// afterwards.
func TestElevate(t *testing.T) {
	policies := func() map[uintptr]int {
		found := map[uintptr]int{}
		all, err := os.ReadDir("/proc/self/task")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range all {
			id, err := strconv.Atoi(e.Name())
			if err != nil {
				t.Fatal(err)
			}
			if policy, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_GETSCHEDULER, uintptr(id), 0, 0); errno == 0 {
				found[policy]++
			}
		}
		return found
	}
	back := elevate()
	if during := policies(); during[realTime] == 0 {
		back()
		t.Skipf("this user may have no real-time threads: %v", during)
	}
	back()
	if after := policies(); after[realTime] > 0 || after[ordinary] == 0 {
		t.Errorf("afterwards threads have the policies %v", after)
	}
}
