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
	// spin is how long before an instant the pacer stops sleeping: about what a
	// wake-up takes on a virtual machine.
	spin = 60 * time.Microsecond
	// longestSleep bounds how long the pacer can keep the runtime from stopping it.
	longestSleep = 10 * time.Millisecond

	timerSlack = 29 // PR_SET_TIMERSLACK
)

// pacer does things at their instants, to some microseconds. Timers of Go are
// late by up to a millisecond, because the runtime waits in whole ones; so the
// pacer has a thread of its own that sleeps in ppoll.
type pacer struct {
	origin time.Time
	alarm  int           // eventfd that wakes the thread
	gone   chan struct{} // closed when the thread has ended

	mu      sync.Mutex
	waiting agenda
	next    time.Duration // until when the thread sleeps
	over    bool          // the thread has ended, and the alarm is gone
}

// appointment is a thing to do at an instant.
type appointment struct {
	due   time.Duration
	order uint64 // among those due at one instant
	act   func() // never waits
}

// newPacer starts the thread. It ends with the context, and what was still to do is
// never done.
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

// at has a thing done at an instant.
func (p *pacer) at(due time.Duration, act func()) {
	p.mu.Lock()
	p.waiting.count++
	heap.Push(&p.waiting, appointment{due, p.waiting.count, act})
	if due < p.next && !p.over {
		p.next = due
		one := [8]byte{1}
		_, _ = syscall.Write(p.alarm, one[:]) // full only when it is awake already
	}
	p.mu.Unlock()
}

// wait returns at the instant, or when the context is over.
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
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, timerSlack, 1, 0) // without it, wake-ups are 50 us later
	var due []appointment
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

// take removes what is due, and says until when there is nothing to do.
func (p *pacer) take(due []appointment) ([]appointment, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	for len(p.waiting.heap) > 0 && p.waiting.heap[0].due <= now {
		due = append(due, heap.Pop(&p.waiting).(appointment))
	}
	p.next = now + longestSleep
	if len(p.waiting.heap) > 0 {
		p.next = min(p.next, p.waiting.heap[0].due)
	}
	return due, p.next
}

// sleep ends early when the alarm is raised. It is a raw call, so that the thread
// keeps its place in the runtime: giving it back and asking for it again would
// take longer than most service times.
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

// agenda is a heap by the instant.
type agenda struct {
	heap  []appointment
	count uint64
}

func (a *agenda) Len() int { return len(a.heap) }
func (a *agenda) Less(i, j int) bool {
	x, y := a.heap[i], a.heap[j]
	return x.due < y.due || x.due == y.due && x.order < y.order
}
func (a *agenda) Swap(i, j int) { a.heap[i], a.heap[j] = a.heap[j], a.heap[i] }
func (a *agenda) Push(x any)    { a.heap = append(a.heap, x.(appointment)) }
func (a *agenda) Pop() any {
	last := len(a.heap) - 1
	x := a.heap[last]
	a.heap[last].act = nil
	a.heap = a.heap[:last]
	return x
}
