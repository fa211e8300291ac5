//go:build linux

package socket

import (
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

// thread is one measuring thread with its own data. Times are since the origin of the stage.
type thread struct {
	job      *load.Job
	stream   bool // else datagrams
	dialler  dialler
	arrivals arrivals // of an open loop
	sheet    *tally.Sheet
	clock    *clock
	links    []link
	under    int // operations in flight
	batch    batch
	buffer   []byte
	rng      *rand.Rand
	idle     ring // links with a free slot, of an open loop
	thinking heap // users in think time
	retries  heap // links waiting to reconnect
	dirty    unwritten
	down     int // links without a peer
	nextScan time.Duration
	ending   bool // no operation starts any more
}

const (
	never    = time.Duration(math.MaxInt64)
	received = 256 << 10 // bytes that one read can bring
	lastWait = 500 * time.Millisecond
	// mostWait bounds a wait, so that a cancelled load is noticed soon.
	mostWait = 50 * time.Millisecond
	// spin is the time before an instant at which the thread stops sleeping: about one
	// timer wake-up latency of a VM.
	spin = 60 * time.Microsecond
)

func newThread(job *load.Job, index int, targets []target, book *tally.Merger) (*thread, error) {
	own := job.Connections / job.Threads
	if index < job.Connections%job.Threads {
		own++
	}
	stream, c := targets[0].kind == syscall.SOCK_STREAM, &clock{}
	t := &thread{
		job: job, stream: stream, sheet: book.Sheet(), clock: c, arrivals: arrivals{fullUntil: -1},
		dialler: dialler{job: job, targets: targets, stream: stream, single: own == 1, clock: c, numbers: index},
		batch:   batch{tick: job.Tick, stamps: job.Open() && job.Tick > 0 && stream && !job.Fresh && targets[0].family != syscall.AF_UNIX},
		buffer:  make([]byte, received), dirty: make(unwritten, 0, own), idle: newRing(own), links: make([]link, own),
		rng: rand.New(rand.NewPCG(job.Stage.Seed, uint64(index)+0x736f636b)),
	}
	for i := range t.links {
		home := (index + i*job.Threads) % len(targets)
		t.links[i] = link{index: int32(i), home: home, target: &targets[home], fd: -1, slots: make([]slot, job.Window)}
	}
	if job.Open() {
		t.arrivals.schedule = job.Arrivals.Schedule(job.Stage.Seed, job.Stage.Length, load.Shard{Index: index, Count: job.Threads})
		t.arrivals.next()
	}
	t.dialler.stamps = t.batch.stamps
	var err error
	t.dialler.poll, err = newPoller()
	return t, err
}

// run is the loop of the thread. The OS thread ends with it, because of its changed settings.
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
	now := t.clock.now()
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
		events := t.batch.wait(t.dialler.poll, wait, t.under, t.arrivals.full)
		if wait == 0 && len(events) == 0 {
			again := t.clock.now()
			t.sheet.Spun(again - now)
			now = again
			continue
		}
		for _, e := range events {
			t.handle(e)
		}
		now = t.clock.now()
	}
}

// only is the single connection of a thread whose users wait for it: reading it directly saves
// a system call per operation.
func (t *thread) only() *link {
	l := &t.links[0]
	if len(t.links) > 1 || len(t.thinking) > 0 || t.job.Open() || t.job.Fresh || l.state != open || l.under == 0 || l.sent < len(l.out) {
		return nil
	}
	return l
}

// tend handles due timers.
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
		t.arrivals.abandonRest(t.sheet, t.clock, t.job.Stage.Length+lastWait)
	}
	t.flushAll(now)
}

// rest is the longest permitted wait. It spins only for waiting users and operations.
func (t *thread) rest(now time.Duration) time.Duration {
	scan := t.nextScan
	if t.job.Timeout >= time.Second { // which a wait may exceed
		scan = max(scan, now+brief)
	}
	wait := min(scan, t.retries.next()) - now
	if !t.ending {
		instant := t.thinking.next()
		if t.arrivals.more && t.arrivals.due > now { // a due operation waits for a slot, not for the clock
			instant = min(instant, t.arrivals.due)
		}
		if t.job.Tick == 0 && instant < never {
			instant -= spin
		}
		wait = min(wait, min(instant, t.job.Stage.Length)-now)
	}
	return min(max(wait, t.job.Tick, 0), mostWait)
}

// scan times out operations. The whole connection is closed, because a protocol with ordered
// responses cannot continue; a lost datagram does not affect the others.
func (t *thread) scan(now time.Duration) {
	t.nextScan = now + min(max(t.job.Timeout/20, time.Millisecond), mostWait)
	for i := range t.links {
		l := &t.links[i]
		switch {
		case l.under == 0 && l.state == connecting && now-l.dialled >= t.job.Timeout:
			t.refused(l, now, fmt.Errorf("connect to %s: no answer within %s", l.target.name, t.job.Timeout))
		case l.under > 0 && now-l.oldest >= t.job.Timeout:
			t.expire(l, now)
		}
	}
}

// expire times out the operations of a link, and finds the start of the oldest of the others.
func (t *thread) expire(l *link, now time.Duration) {
	l.oldest = now
	for k := range l.slots {
		s := &l.slots[k]
		switch {
		case !s.busy:
		case now-s.started < t.job.Timeout:
			l.oldest = min(l.oldest, s.started)
		case t.stream:
			t.sheet.Note(fmt.Errorf("%s did not answer within %s", l.target.name, t.job.Timeout))
			t.lose(l, now)
			return
		default:
			t.finish(l, k, now)
			t.sheet.TimeOut(int(s.class))
		}
	}
	t.freed(l, now)
}

// close closes the sheet, with the time that the thread waited for CPUs before the load.
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

// release frees the thread's OS resources.
func (t *thread) release() {
	for i := range t.links {
		t.links[i].hangUp()
	}
	if t.dialler.poll != nil {
		t.dialler.poll.close()
	}
}

// starved is the thread's total time runnable and waiting for a CPU (the second number of
// schedstat, proc(5)); 0 if unknown.
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
