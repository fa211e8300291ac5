package router

import (
	"sync/atomic"
	"time"
)

// queueLimit is the memory in bytes that packets of one port may take in the router.
const queueLimit = 16 << 20

// link is the state of the link of a port. Times are since the start of the router.
type link struct {
	up   time.Duration // when the link towards the router is free
	down time.Duration // when the link towards the port is free
	last time.Duration // when the last packet is delivered to the port
	held int           // bytes of memory of packets from the port

	received, receivedBytes atomic.Uint64 // from the port
	sent, sentBytes         atomic.Uint64 // to the port
	full                    atomic.Uint64 // from the port, dropped because its queue was full
	unknown                 atomic.Uint64 // from the port, dropped because they are for no other port
	refused                 atomic.Uint64 // for the port, dropped because its device did not take them
}

// packet is a packet on its way.
type packet struct {
	at       time.Duration // when it arrives at the link of its destination; once it has, when it is delivered
	order    uint64        // among packets of the same time
	sending  time.Duration // time that the link of its source takes
	from, to int
	arrived  bool
	frame    []byte
}

// shaper decides when each packet is delivered. One thread uses it; only counters and settings are shared.
type shaper struct {
	ports    []Port
	table    table
	settings atomic.Pointer[Settings]
	links    []link
	latest   []time.Duration // arrival of the last packet of each pair of ports
	waiting  timeline
	pool     pool
	write    func(to int, frame []byte) error
}

func newShaper(o Options, write func(to int, frame []byte) error) *shaper {
	n := len(o.Ports)
	s := &shaper{ports: o.Ports, table: newTable(o.Ports), links: make([]link, n), latest: make([]time.Duration, n*n), write: write}
	s.settings.Store(&o.Settings)
	return s
}

// transmission is the time that a link takes for so many bytes.
func transmission(bytes int, rate int64) time.Duration {
	if rate == 0 {
		return 0
	}
	return time.Duration(float64(bytes) / float64(rate) * float64(time.Second))
}

// take takes a frame from a port. It is delivered at once, or copied.
func (s *shaper) take(from int, frame []byte, now time.Duration) {
	l := &s.links[from]
	l.received.Add(1)
	l.receivedBytes.Add(uint64(max(0, len(frame)-header)))
	to, ok := s.route(from, frame)
	if !ok {
		l.unknown.Add(1)
		return
	}
	if l.held+sizeFor(len(frame)) > queueLimit {
		l.full.Add(1)
		return
	}
	set := s.settings.Load()
	p := packet{from: from, to: to, frame: frame, sending: transmission(len(frame)-header, set.rate(s.ports[from]))}
	leaves := max(now, l.up)
	l.up = leaves + p.sending
	latest := &s.latest[from*len(s.ports)+to]
	p.at = max(leaves+set.latency(s.ports[from], s.ports[to]), *latest) // a latency that fell lets no packet overtake another
	*latest = p.at
	if p.at <= now && (s.waiting.empty() || s.waiting.first() > now) { // nothing is due before it
		if s.arrive(&p); p.at <= now {
			s.hand(&p)
			return
		}
	}
	p.frame = s.pool.copy(frame)
	l.held += cap(p.frame)
	s.waiting.push(p)
}

// route finds the port of a frame's destination.
func (s *shaper) route(from int, frame []byte) (to int, ok bool) {
	if len(frame) < header {
		return 0, false
	}
	at, err := destination(frame[header:])
	if err != nil {
		return 0, false
	}
	to, ok = s.table[at]
	return to, ok && to != from
}

// arrive lets a packet enter the link of its destination, and sets when it is delivered: its end follows its beginning at the lower rate of both links.
func (s *shaper) arrive(p *packet) {
	l := &s.links[p.to]
	begins := max(p.at, l.down)
	l.down = begins + transmission(len(p.frame)-header, s.settings.Load().rate(s.ports[p.to]))
	p.at = max(p.at+p.sending, l.down, l.last)
	l.last = p.at
	p.arrived = true
}

// deliver delivers what is due.
func (s *shaper) deliver(now time.Duration) {
	for !s.waiting.empty() && s.waiting.first() <= now {
		p := s.waiting.pop()
		if head := p.at; !p.arrived {
			if s.arrive(&p); p.at > head {
				s.waiting.push(p)
				continue
			}
		}
		s.hand(&p)
		s.links[p.from].held -= cap(p.frame)
		s.pool.put(p.frame)
	}
}

// hand writes a packet to its port.
func (s *shaper) hand(p *packet) {
	l := &s.links[p.to]
	if s.write(p.to, p.frame) != nil {
		l.refused.Add(1)
		return
	}
	l.sent.Add(1)
	l.sentBytes.Add(uint64(len(p.frame) - header))
}
