package network

import (
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/peer"
)

// grace is how much later than its tick allows a message may start and still be on
// time: what a wake-up costs on a machine that others use too.
const grace = time.Millisecond

// most is how many datagrams one system call takes at most; the kernel cuts no more
// than that many from one piece.
const most = 64

// flow is one connection, or one series of numbered datagrams.
type flow struct {
	fd     int
	number uint32
	next   uint64 // number of the next datagram
}

// sender is one thread of a stream.
type sender struct {
	stream  *stream
	flows   []flow
	sockets []pollFD
	stamp   uint32
	way     string // how datagrams are given to the system
	batch   *peer.Batch
	data    []byte
	dues    load.Schedule
	due     time.Duration // of the next message
	waited  bool          // the socket took no more
	refusal syscall.Errno // why the system refused a message, at last
	looked  time.Duration

	mu   sync.Mutex // of what follows, between a batch and the end of an interval
	page page
}

func (s *stream) newSender(index int, t preparedTest) (*sender, error) {
	d := &sender{stream: s, stamp: t.asked.Stamp, page: s.newPage()}
	for number := index; number < s.load.Flows; number += s.load.Threads {
		fd, err := opened(t.address, s.load)
		if err != nil {
			return d, err
		}
		d.flows = append(d.flows, flow{fd: fd, number: uint32(number)})
		d.sockets = append(d.sockets, pollFD{fd: int32(fd), events: pollOut})
	}
	if s.load.Test == tcpStream {
		d.data = make([]byte, s.load.Message)
		return d, nil
	}
	if s.load.offer.Arrivals.Rate > 0 {
		d.dues = s.load.offer.Arrivals.Schedule(s.stage.Seed, s.stage.Length, load.Shard{Index: index, Count: s.load.Threads})
		d.advance()
	}
	return d, d.choose()
}

// choose settles how datagrams are given to the system.
func (d *sender) choose() error {
	d.way = d.stream.load.Sending
	pieces := min(most, peer.MostPacket/int(d.stream.load.Message))
	if d.way == sendAuto {
		d.way = sendSegmented
		if pieces < 2 {
			d.way = sendBatch
		}
	}
	if d.way == sendSegmented {
		for _, f := range d.flows {
			if err := syscall.SetsockoptInt(f.fd, solUDP, udpSegment, int(d.stream.load.Message)); err != nil {
				if d.stream.load.Sending != sendAuto {
					return fmt.Errorf("enable UDP segmentation offload: %w: use sending: batch", err)
				}
				d.way = sendBatch
			}
		}
	}
	switch d.way {
	case sendSegmented:
		d.data = make([]byte, pieces*int(d.stream.load.Message))
	case sendBatch:
		d.batch = peer.NewBatch(min(most, max(1, (1<<20)/int(d.stream.load.Message))), int(d.stream.load.Message))
	default:
		d.data = make([]byte, d.stream.load.Message)
	}
	return nil
}

func (d *sender) run() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	precise(1)
	defer precise(0)
	if d.stream.load.Test == tcpStream {
		d.pour()
		return
	}
	d.emit()
}

// pour writes to the connections in turn, as long as they take it.
func (d *sender) pour() {
	left := make([]int, len(d.flows)) // of the incomplete message
	for !d.stream.over.Load() {
		wrote := false
		for i := range d.flows {
			if left[i] == 0 {
				left[i] = len(d.data)
			}
			n, err := push(d.flows[i].fd, d.data[len(d.data)-left[i]:])
			switch {
			case err == syscall.EAGAIN || err == syscall.EINTR:
				continue
			case err != 0:
				d.stream.failed <- fmt.Errorf("connection %d of the stream broke: %w", d.flows[i].number+1, err)
				return
			}
			wrote = true
			left[i] -= n
			d.mu.Lock()
			d.page.bytes += int64(n)
			if left[i] == 0 {
				d.page.sent++
			}
			d.mu.Unlock()
		}
		if !wrote {
			await(d.sockets, rest)
		}
	}
}

// turn hands over what the sender did since the last turn.
func (d *sender) turn() page {
	fresh := d.stream.newPage()
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.page
	d.page = fresh
	return p
}
