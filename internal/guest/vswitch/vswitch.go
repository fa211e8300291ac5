// Package vswitch is an Ethernet switch in user space. Its ports are byte streams in which
// each frame is preceded by its length, four bytes in big-endian order, as in QEMU's -netdev
// stream over a unix socket. So guests share a network without a bridge, a tap device or root.
//
// The switch learns addresses, floods frames to unknown ones, and ignores VLANs: a tag is part
// of the frame. Frames between two ports stay in order. A port that does not read loses
// frames, which are counted, and never blocks another.
package vswitch

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// ShortestFrame is the length in bytes of a frame without a payload.
	ShortestFrame = 14
	// LongestFrame is QEMU's maximum in bytes (NET_BUFSIZE): a segment of 64 KiB with its
	// headers.
	LongestFrame = 4096 + 65536

	prefix = 4 // bytes of the length before a frame
)

// Options are a switch's settings. The zero value is valid.
type Options struct {
	Ageing    time.Duration // age after which an idle address is removed; 0 means 5 minutes
	Addresses int           // maximum number of addresses; 0 means 4096
	Queue     int           // bytes queued for a port; 0 means 1 MiB, and the minimum is a longest frame
}

// Switch is an Ethernet switch. Its methods may be called concurrently.
type Switch struct {
	queue int
	table *table
	begin time.Time
	ports atomic.Pointer[[]*Port] // replaced, never changed

	mu     sync.Mutex // held to change ports
	closed bool
}

// New makes a switch without ports.
func New(o Options) *Switch {
	if o.Ageing <= 0 {
		o.Ageing = 5 * time.Minute
	}
	if o.Addresses <= 0 {
		o.Addresses = 4096
	}
	if o.Queue <= 0 {
		o.Queue = 1 << 20
	}
	s := &Switch{queue: max(o.Queue, prefix+LongestFrame), table: newTable(o.Addresses, o.Ageing), begin: time.Now()}
	s.ports.Store(new([]*Port))
	return s
}

// Attach adds a port, which takes over the connection. The port ends when the peer closes, on
// data that is not a frame, or with the switch.
func (s *Switch) Attach(name string, conn net.Conn) (*Port, error) {
	return s.attach(&Port{name: name, conn: conn})
}

func (s *Switch) attach(p *Port) (*Port, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := error(nil)
	if s.closed {
		err = errors.New("the switch is closed")
	} else if s.Port(p.name) != nil {
		err = errors.New("a port with this name exists")
	}
	if err != nil {
		_ = p.conn.Close()
		return nil, fmt.Errorf("attach port %s: %w", p.name, err)
	}
	p.of, p.out, p.ended = s, newQueue(s.queue), make(chan struct{})
	all := append(slices.Clone(*s.ports.Load()), p)
	s.ports.Store(&all)
	p.start()
	return p, nil
}

// Port finds a port by name; nil if there is none.
func (s *Switch) Port(name string) *Port {
	for _, p := range *s.ports.Load() {
		if p.name == name {
			return p
		}
	}
	return nil
}

// Ports lists the ports in the order in which they were attached.
func (s *Switch) Ports() []*Port { return slices.Clone(*s.ports.Load()) }

// Close ends all ports and waits for them.
func (s *Switch) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	for _, p := range s.Ports() {
		p.Close()
	}
}

// leave removes a port.
func (s *Switch) leave(p *Port) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.DeleteFunc(slices.Clone(*s.ports.Load()), func(other *Port) bool { return other == p })
	s.ports.Store(&all)
	s.table.forget(p)
}

// now is the monotonic time since the switch began.
func (s *Switch) now() time.Duration { return time.Since(s.begin) }

// forward sends a record, a frame after its length, to its destination ports. Those that must be woken for it are added to owed.
func (s *Switch) forward(from *Port, record []byte, now time.Duration, owed *[]*Port) {
	frame := record[prefix:]
	to, source := addressAt(frame), addressAt(frame[6:])
	if source.group() || source == 0 {
		from.count.invalidSource.Add(1)
		return
	}
	if !s.table.learn(source, from, now) {
		from.count.unlearned.Add(1)
	}
	if !to.group() {
		if p := s.table.find(to, now); p != nil {
			if p == from {
				from.count.ownSide.Add(1)
				return
			}
			p.put(record, owed)
			return
		}
	}
	ports := *s.ports.Load()
	if len(ports) < 2 {
		from.count.alone.Add(1)
	}
	for _, p := range ports {
		if p != from {
			p.put(record, owed)
		}
	}
}
