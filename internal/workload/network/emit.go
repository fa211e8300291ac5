package network

import (
	"math"
	"syscall"
	"time"

	"plimsoll/internal/load/peer"
)

// emit sends datagrams: as fast as the system takes them, or as they become due.
func (d *sender) emit() {
	for turn := 0; !d.stream.over.Load(); turn++ {
		count := d.most()
		if d.dues != nil {
			if count = d.ready(count); count == 0 {
				continue
			}
		}
		f := &d.flows[turn%len(d.flows)]
		for count > 0 && !d.stream.over.Load() {
			count -= d.give(f, count)
		}
		if count > 0 {
			d.desert(count)
		}
	}
}

// most is how many datagrams go to the system at once.
func (d *sender) most() int {
	switch d.way {
	case sendSegmented:
		return len(d.data) / int(d.stream.load.Message)
	case sendBatch:
		return d.batch.Count()
	}
	return 1
}

// ready waits until something is due and counts what is, up to a number. What is
// hopelessly late is abandoned.
func (d *sender) ready(limit int) int {
	now := time.Since(d.stream.origin)
	meant, spun := d.looked, time.Duration(0) // to look at the clock
	if wait := d.due - now; wait > 0 {
		meant = now + min(wait+time.Duration(d.stream.load.Tick), rest)
		spun = d.sleep(wait)
		now = time.Since(d.stream.origin)
	}
	d.looked = now
	d.mu.Lock()
	defer d.mu.Unlock()
	o := &d.page.offer
	d.page.gap = max(d.page.gap, now-meant)
	d.page.spun += spun
	count := 0
	for ; d.due <= now && count < limit; d.advance() {
		lag := now - d.due
		o.Scheduled++
		if d.stream.load.MaxLag > 0 && lag > time.Duration(d.stream.load.MaxLag) {
			o.Abandoned++
			continue
		}
		count++
		o.Lag.Record(lag, 1)
		if lag <= time.Duration(d.stream.load.Tick)+grace {
			o.OnTime++
			continue
		}
		o.Late++
		if d.waited {
			d.page.blocked++
		}
	}
	d.waited = d.waited && count == limit // what follows has waited as well
	return count
}

// never is when nothing more is due.
const never = math.MaxInt64 / 2

func (d *sender) advance() {
	due, more := d.dues.Next()
	if d.due = due; !more {
		d.due = never
	}
}

// spin is how long before an instant a thread stops sleeping, where it may not
// sleep beyond it.
const spin = 60 * time.Microsecond

// sleep waits for a time, within the tick or as precisely as the clock can be read,
// and for no longer than a rest: then it returns early. It says how much of that it
// spent reading the clock.
func (d *sender) sleep(wait time.Duration) (spun time.Duration) {
	if d.stream.load.Tick > 0 {
		await(nil, wait+time.Duration(d.stream.load.Tick))
		return 0
	}
	if wait > rest {
		await(nil, rest)
		return 0
	}
	until := time.Since(d.stream.origin) + wait
	if wait > spin {
		await(nil, wait-spin)
	}
	begun := time.Since(d.stream.origin)
	now := begun
	for now < until {
		now = time.Since(d.stream.origin)
	}
	return now - begun
}

// give offers datagrams to the system until it has taken or refused some, and says
// how many.
func (d *sender) give(f *flow, count int) int {
	sent, err := d.offer(f, count)
	if err == 0 {
		f.next += uint64(sent)
		d.mu.Lock()
		d.page.sent += int64(sent)
		d.page.bytes += int64(sent) * int64(d.stream.load.Message)
		d.mu.Unlock()
		return sent
	}
	switch {
	case err == syscall.EINTR:
		return 0
	case err == syscall.EAGAIN:
		d.waited = true
		await([]pollFD{{fd: int32(f.fd), events: pollOut}}, rest)
		return 0
	case d.way == sendSegmented && d.stream.load.Sending == sendAuto && unfit(err):
		d.fallBack()
		return 0
	}
	// The number is not used up: the receiver must not miss what never left.
	refused := 1
	if d.way == sendSegmented {
		refused = count
	}
	d.mu.Lock()
	d.page.failed += int64(refused)
	d.refusal = err
	d.mu.Unlock()
	return refused
}

// unfit are the errors of a system or device that cannot cut pieces into datagrams.
func unfit(err syscall.Errno) bool {
	return err == syscall.EINVAL || err == syscall.EIO || err == syscall.EMSGSIZE || err == syscall.EOPNOTSUPP
}

func (d *sender) fallBack() {
	d.way = sendBatch
	d.batch = peer.NewBatch(min(most, max(1, (1<<20)/int(d.stream.load.Message))), int(d.stream.load.Message))
	for _, f := range d.flows {
		syscall.SetsockoptInt(f.fd, solUDP, udpSegment, 0) //nolint:errcheck // it was set to another value before
	}
}

// offer numbers datagrams and gives them to the system in one call.
func (d *sender) offer(f *flow, count int) (sent int, err syscall.Errno) {
	size := int(d.stream.load.Message)
	count = min(count, d.most())
	for i := range count {
		h := peer.Header{Stamp: d.stamp, Flow: f.number, Number: f.next + uint64(i)}
		if d.way == sendBatch {
			h.Put(d.batch.Datagram(i))
			d.batch.Address(i, size)
			continue
		}
		h.Put(d.data[i*size:])
	}
	if d.way == sendBatch {
		return d.batch.Send(f.fd, 0, count)
	}
	n, err := push(f.fd, d.data[:count*size])
	return n / size, err
}

// desert counts what was started and never reached the system because the load ended.
func (d *sender) desert(count int) {
	if d.dues == nil {
		return
	}
	d.mu.Lock()
	d.page.deserted += int64(count)
	d.mu.Unlock()
}
