package responder

import (
	"container/heap"
	"context"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

const (
	// spin is the time before an appointment at which the pacer stops sleeping: about one
	// wake-up latency of a VM.
	spin = 60 * time.Microsecond
	// longestSleep limits how long the pacer can block a stop of the Go runtime.
	longestSleep = 10 * time.Millisecond

	timerSlack = 29 // PR_SET_TIMERSLACK
)

// pacer runs functions at given times, with an error of some microseconds. Go timers are up to
// a millisecond late, because the runtime waits in whole milliseconds; so the pacer sleeps in
// ppoll on a thread of its own.
type pacer struct {
	origin time.Time
	alarm  int           // eventfd that wakes the thread
	gone   chan struct{} // closed when the thread has ended

	mu      sync.Mutex
	waiting timerHeap
	next    time.Duration // wake-up time of the thread
	over    bool          // the thread has exited, and the eventfd is closed
}

// timer is a function and its time.
type timer struct {
	due   time.Duration
	order uint64 // order among those due at one instant
	act   func() // must not block
}

// newPacer starts the thread. It exits with the context; remaining appointments are
// dropped.
func newPacer(ctx context.Context, origin time.Time) (*pacer, error) {
	fd, _, errno := syscall.Syscall(syscall.SYS_EVENTFD2, 0, syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if errno != 0 {
		return nil, errno
	}
	p := &pacer{origin: origin, alarm: int(fd), gone: make(chan struct{})}
	go p.run(ctx)
	return p, nil
}

func (p *pacer) now() time.Duration { return time.Since(p.origin) }

// at schedules a function.
func (p *pacer) at(due time.Duration, act func()) {
	p.mu.Lock()
	p.waiting.count++
	heap.Push(&p.waiting, timer{due, p.waiting.count, act})
	if due < p.next && !p.over {
		p.next = due
		one := [8]byte{1}
		_, _ = syscall.Write(p.alarm, one[:]) // full only if the thread is already awake
	}
	p.mu.Unlock()
}

// wait returns at a time, or when the context ends.
func (p *pacer) wait(ctx context.Context, due time.Duration) error {
	over := make(chan struct{})
	p.at(due, func() { close(over) })
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (p *pacer) run(ctx context.Context) {
	runtime.LockOSThread()
	defer p.end()
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, timerSlack, 1, 0) // by default, wake-ups are 50 us late
	var due []timer
	for ctx.Err() == nil {
		var next time.Duration
		due, next = p.take(due[:0])
		for i := range due {
			due[i].act()
			due[i].act = nil
		}
		if len(due) > 0 {
			continue
		}
		if left := next - p.now() - spin; left > 0 {
			p.sleep(left)
		}
	}
}

func (p *pacer) end() {
	p.mu.Lock()
	p.over = true
	_ = syscall.Close(p.alarm)
	p.mu.Unlock()
	close(p.gone)
}

// take removes the due appointments, and returns the time of the next.
func (p *pacer) take(due []timer) ([]timer, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	for len(p.waiting.heap) > 0 && p.waiting.heap[0].due <= now {
		due = append(due, heap.Pop(&p.waiting).(timer))
	}
	p.next = now + longestSleep
	if len(p.waiting.heap) > 0 {
		p.next = min(p.next, p.waiting.heap[0].due)
	}
	return due, p.next
}

// sleep ends early when the alarm is raised. It is a raw system call, so the thread keeps
// its processor of the runtime: releasing and reacquiring it would take longer than most
// service times.
func (p *pacer) sleep(d time.Duration) {
	poll := struct {
		fd              int32
		events, revents int16
	}{fd: int32(p.alarm), events: 1}
	limit := syscall.NsecToTimespec(int64(d))
	n, _, _ := syscall.RawSyscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&poll)), 1, uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	if int(n) == 1 {
		var count [8]byte
		_, _, _ = syscall.RawSyscall(syscall.SYS_READ, uintptr(p.alarm), uintptr(unsafe.Pointer(&count)), 8)
	}
}

// timerHeap is a heap by time.
type timerHeap struct {
	heap  []timer
	count uint64
}

func (a *timerHeap) Len() int { return len(a.heap) }
func (a *timerHeap) Less(i, j int) bool {
	x, y := a.heap[i], a.heap[j]
	return x.due < y.due || x.due == y.due && x.order < y.order
}
func (a *timerHeap) Swap(i, j int) { a.heap[i], a.heap[j] = a.heap[j], a.heap[i] }
func (a *timerHeap) Push(x any)    { a.heap = append(a.heap, x.(timer)) }
func (a *timerHeap) Pop() any {
	last := len(a.heap) - 1
	x := a.heap[last]
	a.heap[last].act = nil
	a.heap = a.heap[:last]
	return x
}
