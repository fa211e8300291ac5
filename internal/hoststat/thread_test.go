package hoststat_test

import (
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/interval"
)

// Threads that wait for a mutex are seen at it, those that wait for something else are not, and
// threads that run often are followed.
func TestThreads(t *testing.T) {
	if _, err := os.ReadFile("/proc/self/syscall"); err != nil {
		t.Skip(err)
	}
	var mutex, condition atomic.Uint32
	mutex.Store(2)              // locked, and others wait
	const wait, wake = 128, 129 // FUTEX_WAIT_PRIVATE, FUTEX_WAKE_PRIVATE
	sleep := func(word *atomic.Uint32) {
		runtime.LockOSThread()
		value := word.Load()
		for word.Load() == value {
			_, _, _ = syscall.Syscall6(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(word)), wait, uintptr(value), 0, 0, 0)
		}
	}
	for range 3 {
		go sleep(&mutex)
		go sleep(&condition)
	}
	defer func() {
		for _, word := range []*atomic.Uint32{&mutex, &condition} {
			word.Store(1)
			_, _, _ = syscall.Syscall6(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(word)), wake, 9, 0, 0, 0)
		}
	}()
	r := hoststat.NewReader(hoststat.Local())
	r.Focus = []int{os.Getpid()}
	own := func(i *hoststat.Interval) *hoststat.Process {
		for n := range i.Processes {
			if i.Processes[n].PID == os.Getpid() {
				return &i.Processes[n]
			}
		}
		return &hoststat.Process{}
	}
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	before := r.Read(0)
	seen, followed := false, false
	for n := 1; n < 200 && !(seen && followed); n++ {
		for range hoststat.StepsPerReading {
			<-tick.C // so that a thread runs often
			r.Step()
		}
		now := r.Read(float64(n))
		i := interval.Between(before, now)
		before = now
		p := own(i)
		if p.Contended > 3 {
			t.Fatalf("%v threads at a mutex, want 3", p.Contended)
		}
		seen = seen || p.Contended == 3 // fewer while one is on its way
		for _, a := range i.Activity {
			followed = followed || a.PID == os.Getpid() && len(a.Runs) >= hoststat.StepsPerReading-1
		}
	}
	if !seen || !followed {
		t.Errorf("threads at a mutex seen: %v, thread followed: %v", seen, followed)
	}
}
