package vswitch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// Port is one connection of a switch.
type Port struct {
	name string
	of   *Switch
	conn net.Conn
	out  *queue
	owed []*Port // ports that the reader must wake; used by the reader only
	left atomic.Bool

	gate   *gate       // nil where nothing is ever buffered
	asleep atomic.Bool // it gets no frames

	count struct {
		receivedFrames, receivedBytes                             atomic.Uint64
		sentFrames, sentBytes                                     atomic.Uint64
		queueFull, gone, invalidSource, ownSide, alone, unlearned atomic.Uint64
	}

	once  sync.Once
	err   error // why it ended; valid once ended is closed
	ended chan struct{}
}

// Counters are the counters of a port. Bytes are the bytes of frames, without their length
// prefix.
type Counters struct {
	Received, ReceivedBytes uint64 // from the port
	Sent, SentBytes         uint64 // to the port
	QueueFull               uint64 // for the port, lost because it did not read
	Gone                    uint64 // for the port, lost because it ended
	InvalidSource           uint64 // from the port, dropped for a source address that is zero or multicast
	OwnSide                 uint64 // from the port, not sent on because their destination is there too
	Alone                   uint64 // from the port, lost because there was no other
	Unlearned               uint64 // forwarded, but the table was full for their source address
}

// Plus is the sum of two counts.
func (c Counters) Plus(d Counters) Counters {
	return Counters{
		Received: c.Received + d.Received, ReceivedBytes: c.ReceivedBytes + d.ReceivedBytes, Sent: c.Sent + d.Sent, SentBytes: c.SentBytes + d.SentBytes,
		QueueFull: c.QueueFull + d.QueueFull, Gone: c.Gone + d.Gone, InvalidSource: c.InvalidSource + d.InvalidSource, OwnSide: c.OwnSide + d.OwnSide,
		Alone: c.Alone + d.Alone, Unlearned: c.Unlearned + d.Unlearned,
	}
}

// Counters is the count so far.
func (p *Port) Counters() Counters {
	c := &p.count
	return Counters{
		Received: c.receivedFrames.Load(), ReceivedBytes: c.receivedBytes.Load(), Sent: c.sentFrames.Load(), SentBytes: c.sentBytes.Load(),
		QueueFull: c.queueFull.Load(), Gone: c.gone.Load(), InvalidSource: c.invalidSource.Load(), OwnSide: c.ownSide.Load(),
		Alone: c.alone.Load(), Unlearned: c.unlearned.Load(),
	}
}

// Wait waits for the end of the port. The error names the port and the cause; it is nil after
// a regular close.
func (p *Port) Wait() error {
	<-p.ended
	return p.err
}

// Close ends the port and waits for it.
func (p *Port) Close() {
	p.end(nil)
	<-p.ended
}

// end ends the port with the first reason.
func (p *Port) end(err error) {
	p.once.Do(func() {
		if err != nil {
			p.err = fmt.Errorf("port %s: %w", p.name, err)
		}
		p.left.Store(true)
		p.out.close()
		_ = p.conn.Close()
		if p.gate != nil {
			p.gate.wake()
		}
	})
}

func (p *Port) start() {
	var both sync.WaitGroup
	both.Go(func() { p.end(p.read()) })
	both.Go(func() { p.end(p.write()) })
	go func() {
		both.Wait()
		p.of.leave(p)
		close(p.ended)
	}()
}

// read reads frames in batches. Receivers are woken after the last of a batch, so that they
// write a batch too.
func (p *Port) read() error {
	buffer := make([]byte, 4*(prefix+LongestFrame))
	begin, end := 0, 0
	for {
		used, err := p.deliver(buffer[begin:end])
		if err != nil {
			return err
		}
		begin += used
		if begin == end {
			begin, end = 0, 0
		} else if len(buffer)-begin < prefix+LongestFrame {
			end = copy(buffer, buffer[begin:end])
			begin = 0
		}
		n, err := p.conn.Read(buffer[end:])
		end += n
		switch {
		case n > 0:
		case errors.Is(err, io.EOF) && begin != end:
			return errors.New("the stream ended within a frame")
		case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed):
			return nil
		case err != nil:
			return fmt.Errorf("read frames: %w", err)
		}
	}
}

// deliver forwards all complete frames at the beginning of b and returns their length in
// bytes.
func (p *Port) deliver(b []byte) (used int, err error) {
	now := p.of.now()
	for len(b)-used >= prefix {
		n := int64(binary.BigEndian.Uint32(b[used:]))
		if n < ShortestFrame || n > LongestFrame {
			err = fmt.Errorf("a frame of %d bytes: frames have %d to %d, each after its length in four bytes", n, ShortestFrame, LongestFrame)
			break
		}
		whole := used + prefix + int(n)
		if len(b) < whole {
			break
		}
		p.count.receivedFrames.Add(1)
		p.count.receivedBytes.Add(uint64(n))
		if p.gate == nil || !p.gate.keep(p, b[used:whole]) {
			p.of.forward(p, b[used:whole], now, &p.owed)
		}
		used = whole
	}
	p.owed = wake(p.owed)
	return used, err
}

// wake wakes ports, and returns an empty list.
func wake(owed []*Port) []*Port {
	for i, to := range owed {
		to.out.wake()
		owed[i] = nil
	}
	return owed[:0]
}

// forwardAll forwards records that were buffered.
func (p *Port) forwardAll(records []byte) {
	var owed []*Port
	now := p.of.now()
	for len(records) > 0 {
		whole := prefix + int(binary.BigEndian.Uint32(records))
		p.of.forward(p, records[:whole], now, &owed)
		records = records[whole:]
	}
	wake(owed)
}

// putAll queues records for the port.
func (p *Port) putAll(records []byte) {
	var owed []*Port
	for len(records) > 0 {
		whole := prefix + int(binary.BigEndian.Uint32(records))
		p.put(records[:whole], &owed)
		records = records[whole:]
	}
	wake(owed)
}

// put queues a record for the port; the sender wakes the port later.
func (p *Port) put(record []byte, owed *[]*Port) {
	if p.asleep.Load() {
		return
	}
	if p.gate != nil && p.gate.shut.Load() {
		p.gate.repeat(record)
	}
	ok, wake := p.out.put(record)
	switch {
	case ok && wake:
		*owed = append(*owed, p)
	case ok:
	case p.left.Load():
		p.count.gone.Add(1)
	default:
		p.count.queueFull.Add(1)
	}
}

// write sends all queued frames in one write.
func (p *Port) write() error {
	var spare []byte
	for {
		batch, frames := p.out.take(spare)
		if frames == 0 {
			return nil
		}
		if _, err := p.conn.Write(batch); err != nil {
			p.count.gone.Add(uint64(frames))
			if p.left.Load() || errors.Is(err, net.ErrClosed) {
				return nil
			}
			return fmt.Errorf("write frames: %w", err)
		}
		p.count.sentFrames.Add(uint64(frames))
		p.count.sentBytes.Add(uint64(len(batch) - frames*prefix))
		spare = batch
	}
}
