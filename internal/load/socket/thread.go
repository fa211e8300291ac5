//go:build linux

package socket

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/tally"
)

// thread is one measuring thread with all that is its own. Times are since the
// origin of the stage.
type thread struct {
	job       *load.Job
	places    []place
	stream    bool // else datagrams
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
	full      bool          // an operation that was due found no free slot
	fullUntil time.Duration // when the last such time ended
	idle      ring          // links with a free slot, of an open loop
	thinking  heap          // users of a closed loop who pause
	retries   heap          // links that are to connect again
	dirty     []int32       // links with something to write
	down      int           // links that are known to have no peer
	nextScan  time.Duration
	ending    bool // nothing starts any more
}

const (
	never    = time.Duration(math.MaxInt64)
	received = 256 << 10 // bytes that one read can bring
	lastWait = 500 * time.Millisecond
	// mostWait is how long a thread may sleep, so that it soon sees that a load was
	// cancelled.
	mostWait = 50 * time.Millisecond
	// spin is how long before an instant the thread stops sleeping: about what a
	// wake-up by a timer takes on a virtual machine.
	spin = 60 * time.Microsecond
)

func newThread(job *load.Job, index int, places []place, book *tally.Book) (*thread, error) {
	own := job.Connections / job.Threads
	if index < job.Connections%job.Threads {
		own++
	}
	t := &thread{
		job: job, places: places, stream: places[0].kind == syscall.SOCK_STREAM, sheet: book.Sheet(), numbers: index, fullUntil: -1,
		buffer: make([]byte, received), dirty: make([]int32, 0, own), idle: newRing(own), links: make([]link, own),
		rng: rand.New(rand.NewPCG(job.Stage.Seed, uint64(index)+0x736f636b)),
	}
	for i := range t.links {
		home := (index + i*job.Threads) % len(places)
		t.links[i] = link{index: int32(i), home: home, place: &places[home], fd: -1, slots: make([]slot, job.Window)}
	}
	if job.Open() {
		t.schedule = job.Arrivals.Schedule(job.Stage.Seed, job.Stage.Length, load.Shard{Index: index, Count: job.Threads})
		t.due, t.more = t.schedule.Next()
	}
	var err error
	t.poll, err = newPoller()
	return t, err
}

// connectAll makes the connections before the load begins, not so many at once that
// the peer's queue of new ones overflows.
func (t *thread) connectAll(ctx context.Context) error {
	const atOnce = 64
	if t.job.Fresh {
		return nil
	}
	for links := t.links; len(links) > 0; {
		some := links[:min(atOnce, len(links))]
		links = links[len(some):]
		if err := t.connect(ctx, some); err != nil {
			return err
		}
		for i := range some {
			if err := t.settle(&some[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *thread) connect(ctx context.Context, links []link) error {
	for deadline := time.Now().Add(t.job.Timeout); ; {
		left := 0
		for i := range links {
			l := &links[i]
			if l.state == closed {
				// A unix socket whose queue is full says to try again.
				if err := t.dial(l); err != nil && !errors.Is(err, syscall.EAGAIN) {
					return err
				}
			}
			if l.state != open {
				left++
			}
		}
		switch {
		case left == 0:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case time.Now().After(deadline):
			return fmt.Errorf("connect to %s: no answer within %s", links[0].place.name, t.job.Timeout)
		}
		for _, e := range t.poll.wait(mostWait / 5) {
			if l := &t.links[e.Fd]; l.state == connecting {
				if err := t.connected(l); err != nil {
					return err
				}
			}
		}
	}
}

func (t *thread) now() time.Duration { return time.Since(t.origin) }

// run is the loop of the thread. The thread of the system ends with it: nothing
// else should run on one with such settings.
func (t *thread) run() {
	runtime.LockOSThread()
	precise()
	if t.job.Open() {
		prefer(t.job.Tick > 0)
	}
	defer t.close(starved())
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
	if len(t.links) > 1 || len(t.thinking) > 0 || t.job.Open() || t.job.Fresh || l.state != open || l.under == 0 || l.sent < len(l.out) {
		return nil
	}
	return l
}

// tend does what the clock asks for.
func (t *thread) tend(now time.Duration) {
	if now >= t.nextScan {
		t.scan(now)
	}
	for t.retries.due(now) {
		t.again(&t.links[t.retries.pop().link], now)
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

// rest is how long the thread may wait now. Only what users and operations wait for
// is worth spinning for.
func (t *thread) rest(now time.Duration) time.Duration {
	wait := min(t.nextScan, t.retries.next()) - now
	if !t.ending {
		instant := t.thinking.next()
		if t.more && t.due > now { // one that is due already waits for a slot, not for the clock
			instant = min(instant, t.due)
		}
		if t.job.Tick == 0 && instant < never {
			instant -= spin
		}
		wait = min(wait, min(instant, t.job.Stage.Length)-now)
	}
	return min(max(wait, t.job.Tick, 0), mostWait)
}

// scan ends operations that take too long. The whole connection is given up,
// because a protocol that answers in order cannot go on; a datagram that was lost
// leaves the others as they are.
func (t *thread) scan(now time.Duration) {
	t.nextScan = now + min(max(t.job.Timeout/20, time.Millisecond), mostWait)
	for i := range t.links {
		l := &t.links[i]
		switch {
		case l.under == 0 && l.state == connecting && now-l.dialled >= t.job.Timeout:
			t.refused(l, now, fmt.Errorf("connect to %s: no answer within %s", l.place.name, t.job.Timeout))
		case l.under > 0 && now-l.oldest >= t.job.Timeout:
			t.expire(l, now)
		}
	}
}

// expire ends the operations of a link that take too long, and learns when the
// oldest of the others began.
func (t *thread) expire(l *link, now time.Duration) {
	l.oldest = now
	for k := range l.slots {
		s := &l.slots[k]
		switch {
		case !s.busy:
		case now-s.started < t.job.Timeout:
			l.oldest = min(l.oldest, s.started)
		case t.stream:
			t.sheet.Note(fmt.Errorf("%s did not answer within %s", l.place.name, t.job.Timeout))
			t.lose(l, now)
			return
		default:
			t.finish(l, k, now)
			t.sheet.TimeOut(int(s.class))
		}
	}
	t.freed(l, now)
}

// close ends the thread's part in a load, which waited so long for CPUs when it began.
func (t *thread) close(before time.Duration) {
	busy := 0
	for i := range t.links {
		for _, s := range t.links[i].slots {
			if s.busy {
				busy++
			}
		}
	}
	t.release()
	t.sheet.Starved(starved() - before)
	t.sheet.Close(busy)
}

// release frees what the thread holds of the system.
func (t *thread) release() {
	for i := range t.links {
		t.hangUp(&t.links[i])
	}
	if t.poll != nil {
		t.poll.close()
	}
}

// starved is for how long this thread was ever ready and had to wait for a CPU (the
// second number of schedstat, proc(5)); 0 where the kernel does not tell.
func starved() time.Duration {
	b, err := os.ReadFile("/proc/thread-self/schedstat")
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b))
	if len(f) < 2 {
		return 0
	}
	ns, err := strconv.ParseInt(f[1], 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(ns)
}
