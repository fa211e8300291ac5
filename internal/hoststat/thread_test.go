package hoststat_test

import (
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/fstest"
	"time"
	"unsafe"

	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/hoststattest"
	"plimsoll/internal/hoststat/interval"
)

// A thread that is read while the kernel switches it out shows no wait yet, though its counters
// are those of its sleep. The next reading sees where it waits; later ones need not look again.
func TestThreadSwitchedOut(t *testing.T) {
	const at = "proc/7/task/7/"
	line := []byte("7 (p) S 1 7 7 0 -1 0 10 0 0 0 5 0 0 0 20 0 1 0 1000" + strings.Repeat(" 0", 30) + "\n")
	status := &fstest.MapFile{Data: []byte("Cpus_allowed_list:\t0-1\n")}
	tree := fstest.MapFS{"proc/7/stat": {Data: line}, "proc/7/status": status, at + "stat": {Data: line}, at + "schedstat": {Data: []byte("5000 0 3\n")}}
	r := hoststat.NewReader(hoststattest.Tree(tree))
	r.Focus = []int{7}
	for i, c := range []struct {
		wait, call string
		contended  float64
	}{
		{"0", "running", 0},
		{"futex_wait_queue", "202 0x7f12 0x80 0x2 0x0 0x0 0x0", 1},
		{"0", "running", 1},
	} {
		tree[at+"wchan"], tree[at+"syscall"] = &fstest.MapFile{Data: []byte(c.wait)}, &fstest.MapFile{Data: []byte(c.call)}
		processes := r.Read(float64(i)).Processes
		if len(processes) != 1 || processes[0].Contended != c.contended {
			t.Errorf("reading %d: %+v, want %v threads at a mutex", i, processes, c.contended)
		}
	}
}

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
	seen, followed, last := false, false, (*hoststat.Process)(nil)
	for n := 1; n < 200 && !(seen && followed); n++ {
		for range hoststat.StepsPerReading {
			<-tick.C // so that a thread runs often
			r.Step()
		}
		now := r.Read(float64(n))
		i := interval.Between(before, now)
		before = now
		p := own(i)
		last = p
		if p.Contended > 3 {
			t.Fatalf("%v threads at a mutex, want 3", p.Contended)
		}
		seen = seen || p.Contended == 3 // fewer while one is on its way
		for _, a := range i.Activity {
			followed = followed || a.PID == os.Getpid() && len(a.Runs) >= hoststat.StepsPerReading-1
		}
	}
	if !seen || !followed {
		t.Errorf("threads at a mutex seen: %v, thread followed: %v; the last reading: %+v", seen, followed, *last)
	}
}
