//go:build linux

package socket

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"syscall"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/tally"
	"plimsoll/internal/measure"
)

// thread is one measuring thread with all that is its own. Times are since the
// origin of the stage.
type thread struct {
	job       *load.Job
	place     place
	poll      *poller
	sheet     *tally.Sheet
	origin    time.Time
	links     []link
	numbers   int // of the next connection
	under     int // operations under way
	buffer    []byte
	rng       *rand.Rand
	schedule  load.Schedule // of an open loop
	due       time.Duration // of the next operation
	more      bool          // there is one
	fullAt    time.Duration // when an operation last found no free slot
	idle      ring          // links with a free slot, of an open loop
	thinking  heap          // users of a closed loop who pause
	dirty     []int32       // links with something to write
	lost      int           // links that wait until they may connect again
	nextRetry time.Duration
	nextScan  time.Duration
	ending    bool // nothing starts any more
	trouble   *measure.Check
}

const (
	never    = time.Duration(math.MaxInt64)
	received = 256 << 10 // bytes that one read can bring
	lastWait = 500 * time.Millisecond
	// spin is how long before an instant the thread stops sleeping: about what a
	// wake-up by a timer takes on a virtual machine.
	spin = 60 * time.Microsecond
)

func newThread(job *load.Job, index int, p place, book *tally.Book) (*thread, error) {
	own := job.Connections / job.Threads
	if index < job.Connections%job.Threads {
		own++
	}
	t := &thread{
		job: job, place: p, sheet: book.Sheet(), numbers: index, nextRetry: never, fullAt: -1,
		buffer: make([]byte, received), dirty: make([]int32, 0, own), idle: newRing(own), links: make([]link, own),
		rng: rand.New(rand.NewPCG(job.Stage.Seed, uint64(index)+0x736f636b)),
	}
	for i := range t.links {
		t.links[i] = link{index: int32(i), fd: -1, slots: make([]slot, job.Window)}
	}
	if job.Open() {
		t.schedule = job.Arrivals.Schedule(job.Stage.Seed, job.Stage.Length, load.Shard{Index: index, Count: job.Threads})
		t.due, t.more = t.schedule.Next()
	}
	var err error
	t.poll, err = newPoller()
	return t, err
}

// connectAll makes the connections before the load begins.
func (t *thread) connectAll(ctx context.Context) error {
	if t.job.Fresh {
		return nil
	}
	for i := range t.links {
		l := &t.links[i]
		if err := t.dial(l); err != nil {
			return err
		}
		deadline := time.Now().Add(t.job.Timeout)
		for l.state == connecting {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("connect to %s: no answer within %s", t.place.name, t.job.Timeout)
			}
			for _, e := range t.poll.wait(50 * time.Millisecond) {
				if int(e.Fd) != i {
					continue
				}
				if err := t.connected(l); err != nil {
					return err
				}
			}
		}
		if err := t.settle(l); err != nil {
			return err
		}
	}
	return nil
}

func (t *thread) now() time.Duration { return time.Since(t.origin) }

// run is the loop of the thread.
func (t *thread) run() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer t.close()
	precise()
	for i := range t.links {
		t.begin(&t.links[i])
	}
	end := t.job.Stage.Length + t.job.Timeout + lastWait
	now := t.now()
	for meant := time.Duration(0); ; {
		if !t.sheet.Look(now, meant) || t.ending && (t.under == 0 || now >= end) {
			return
		}
		t.tend(now)
		wait := t.rest(now)
		meant = now + wait
		if l := t.only(); l != nil && wait > 0 {
			now = t.receive(l, true)
			continue
		}
		events := t.poll.wait(wait)
		if wait == 0 && len(events) == 0 {
			again := t.now()
			t.sheet.Spun(again - now)
			now = again
			continue
		}
		for _, e := range events {
			t.handle(e)
		}
		now = t.now()
	}
}

// only is the single connection of a thread whose users have nothing to do but
// wait for it: asking it directly saves a call for each operation.
func (t *thread) only() *link {
	l := &t.links[0]
	if len(t.links) > 1 || t.job.Open() || t.job.Fresh || l.state != open || l.under == 0 || l.sent < len(l.out) {
		return nil
	}
	return l
}

// tend does what the clock asks for.
func (t *thread) tend(now time.Duration) {
	if now >= t.nextScan {
		t.scan(now)
	}
	if now >= t.nextRetry {
		t.reconnect(now)
	}
	if !t.ending && t.job.Open() {
		t.offer(now)
	}
	for !t.ending && t.thinking.due(now) {
		l := &t.links[t.thinking.pop().link]
		l.ready++
		t.freed(l, now)
	}
	if !t.ending && now >= t.job.Stage.Length {
		t.ending = true
		t.abandonRest()
	}
	t.flushAll(now)
}

// rest is how long the thread may wait now.
func (t *thread) rest(now time.Duration) time.Duration {
	wake := min(t.nextScan, t.nextRetry)
	if !t.ending {
		wake = min(wake, t.job.Stage.Length, t.thinking.next())
		if t.more && t.due > now { // one that is due already waits for a slot, not for the clock
			wake = min(wake, t.due)
		}
	}
	if wait := wake - now; t.job.Tick > 0 {
		return max(wait, t.job.Tick)
	}
	return max(0, wake-now-spin)
}

// scan ends operations that take too long. The whole connection is given up,
// because a protocol that answers in order cannot go on; a datagram that was lost
// leaves the others as they are.
func (t *thread) scan(now time.Duration) {
	t.nextScan = now + min(max(t.job.Timeout/20, time.Millisecond), 100*time.Millisecond)
	for i := range t.links {
		l := &t.links[i]
		for k := range l.slots {
			s := &l.slots[k]
			if l.under == 0 || !s.busy || now-s.started < t.job.Timeout {
				continue
			}
			if t.place.kind == syscall.SOCK_STREAM {
				t.lose(l, now)
				break
			}
			t.finish(l, k, now)
			t.sheet.TimeOut(int(s.class))
			t.freed(l, now)
		}
	}
}

// note keeps the first trouble with connections. Only what the client lacks makes
// the stage invalid; what the peer does is counted.
func (t *thread) note(err error) {
	ours := errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOBUFS)
	if t.trouble != nil && (t.trouble.State == measure.Fail || !ours) {
		return
	}
	t.trouble = &measure.Check{Name: "connections", State: measure.Unknown, Detail: "first trouble: " + err.Error()}
	if ours {
		t.trouble.State = measure.Fail
		t.trouble.Detail = err.Error() + ": the generator has run out; offer less, or widen net.ipv4.ip_local_port_range"
	}
}

func (t *thread) close() {
	for i := range t.links {
		t.hangUp(&t.links[i])
	}
	if t.poll != nil {
		t.poll.close()
	}
	t.sheet.Close()
}
