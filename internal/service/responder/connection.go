package responder

import (
	"io"
	"net"
	"slices"
	"sync/atomic"
	"time"
)

// counts are the totals of the process so far.
type counts struct {
	requests, faults, connections atomic.Int64
}

// connection serves one client by a dialect.
type connection struct {
	conn   *net.TCPConn
	talk   dialect
	faults *faults
	counts *counts
	delay  *delay // nil for immediate responses
	out    *outbox
}

const firstBuffer = 16 << 10

// serve reads and responds until the connection ends. Responses to requests of one read are
// sent in one write.
func (c *connection) serve() {
	defer c.conn.Close()
	buffer := make([]byte, firstBuffer)
	var out []byte
	full := 0
	for {
		n, err := c.conn.Read(buffer[full:])
		if n == 0 && err != nil {
			c.out.finish()
			return
		}
		full += n
		var arrival time.Duration
		if c.delay != nil {
			arrival = c.delay.pacer.now()
		}
		rest, answers, end := c.batch(buffer[:full], out[:0], arrival)
		if len(answers) > 0 && !c.out.write(answers) || end {
			c.out.finish()
			return
		}
		if out = answers; cap(out) > 1<<20 {
			out = nil
		}
		full = copy(buffer, rest)
		if full == len(buffer) {
			buffer = slices.Grow(buffer, len(buffer))[:2*len(buffer)]
		}
	}
}

// batch serves all complete requests in data and returns the rest.
func (c *connection) batch(data, out []byte, arrival time.Duration) (rest, answers []byte, end bool) {
	requests, bad := int64(0), int64(0)
	count := func() { // before the client sees the outcome
		c.counts.requests.Add(requests)
		c.counts.faults.Add(bad)
		requests, bad = 0, 0
	}
	defer count()
	for len(data) > 0 {
		used, err := c.talk.next(data)
		if err != nil {
			return nil, c.talk.failure(out, err.Error()), true
		}
		if used == 0 {
			break
		}
		data = data[used:]
		requests++
		what := c.faults.next()
		if what != served {
			bad++
		}
		if what != served || c.delay != nil {
			count()
		}
		if c.delay != nil {
			c.later(what, arrival)
		} else {
			switch out = c.reply(out, what); what {
			case reset:
				c.abort()
				return nil, nil, true
			case halfClosed:
				c.out.write(out)
				c.leaveHalf()
				return nil, nil, true
			}
		}
		if c.talk.last() {
			return nil, out, true
		}
	}
	return data, out, false
}

// reply appends the response of a fate.
func (c *connection) reply(out []byte, what disposition) []byte {
	switch what {
	case served:
		return c.talk.answer(out)
	case failed:
		return c.talk.failure(out, onPurpose)
	case garbled:
		return append(out, garbage...)
	}
	return out
}

// abort makes the kernel send a reset.
func (c *connection) abort() {
	_ = c.conn.SetLinger(0)
	_ = c.conn.Close()
}

// leaveHalf closes the write side, and reads until the client closes its side.
func (c *connection) leaveHalf() {
	_ = c.conn.CloseWrite()
	_, _ = io.Copy(io.Discard, c.conn)
}

// later queues the response until its departure.
func (c *connection) later(what disposition, arrival time.Duration) {
	due, refused := c.delay.queue.admit(arrival)
	if refused && what == served {
		what = failed
		c.counts.faults.Add(1)
	}
	p := &pending{data: c.reply(nil, what), what: what}
	c.out.expect(p)
	c.delay.pacer.at(due, func() {
		c.out.release(p, c)
	})
}

// delay schedules responses that are sent later.
type delay struct {
	queue *queue
	pacer *pacer
}
