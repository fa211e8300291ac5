//go:build linux

package socket

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// policies counts the threads of the process by policy.
func policies(t *testing.T) map[uintptr]int {
	t.Helper()
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
			found[policy&^resetOnFork]++
		}
	}
	return found
}

// All threads of the process are real-time threads while a schedule is kept, until the last of several loads ends, and none
// afterwards.
func TestElevate(t *testing.T) {
	first, second := elevate(), elevate()
	during := policies(t)
	first()
	first()
	between := policies(t)
	second()
	if during[roundRobin] == 0 {
		t.Skipf("this user may have no real-time threads: %v", during)
	}
	if between[roundRobin] == 0 {
		t.Errorf("when the first of two loads has ended, threads have the policies %v", between)
	}
	if after := policies(t); after[roundRobin] > 0 || after[other] == 0 {
		t.Errorf("afterwards threads have the policies %v", after)
	}
}

// A program that is started during a load is no real-time program, whichever thread starts it.
func TestProgramsStartedDuringALoad(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer elevate()()
	for _, policy := range []uintptr{roundRobin, fifo} {
		if errno := schedule(0, policy); errno != 0 {
			t.Skipf("this user may have no real-time threads: %v", errno)
		}
		out, err := exec.CommandContext(t.Context(), "cat", "/proc/self/stat").Output()
		if errno := schedule(0, other); err != nil || errno != 0 {
			t.Fatal(err, errno)
		}
		const field = 41 // proc(5)
		_, rest, _ := strings.Cut(string(out), ") ")
		if got := strings.Fields(rest)[field-3]; got != "0" {
			t.Errorf("a program that a thread with policy %d starts has policy %s", policy, got)
		}
	}
}
