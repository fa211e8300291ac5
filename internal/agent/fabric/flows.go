package fabric

import (
	"errors"
	"sync"
)

// mostStreams is the maximum number of streams of a session.
const mostStreams = 1024

// flows are the streams of one session. The agent opens the first, for control messages;
// the lab opens the others.
type flows struct {
	send func(frame)

	mu     sync.Mutex
	err    error
	accept func(*flow) // for those that the other side opens; nil refuses them
	last   uint32      // the newest
	open   map[uint32]*flow
}

// newFlows also returns the first, which exists from the start on both sides.
func newFlows(send func(frame), opening bool) (*flows, *flow) {
	m := &flows{send: send, open: map[uint32]*flow{}}
	m.open[0] = newFlow(0, send, opening)
	return m, m.open[0]
}

// serve sets the handler of flows that the other side opens.
func (m *flows) serve(accept func(*flow)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.accept = accept
}

// begun announces the first flow, which the lab would otherwise not know until a retransmission.
func (m *flows) begun() { m.send(frame{op: opOpen}) }

// begin opens a flow, without a round trip.
func (m *flows) begin() (*flow, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return nil, m.err
	}
	if len(m.open) >= mostStreams {
		return nil, errors.New("too many open streams to one agent")
	}
	m.last++
	f := newFlow(m.last, m.send, true)
	m.open[f.id] = f
	m.send(frame{op: opOpen, stream: f.id})
	return f, nil
}

// take passes a frame to its flow.
func (m *flows) take(f frame) {
	m.mu.Lock()
	s := m.open[f.stream]
	accept := m.accept
	fresh := s == nil && f.op == opOpen && accept != nil && m.err == nil && f.stream > m.last && len(m.open) < mostStreams
	if fresh {
		s = newFlow(f.stream, m.send, false)
		m.open[f.stream], m.last = s, f.stream
	}
	known := f.stream <= m.last
	m.mu.Unlock()
	switch {
	case s != nil:
		s.take(f)
		if fresh {
			accept(s)
		}
	case f.op == opEnd && known: // its acknowledgement got lost
		m.send(ackOf(f.stream, f.offset+1, f.offset))
	case f.op == opData && known: // it was closed
		m.send(frame{op: opReset, stream: f.stream})
	}
}

// find returns a flow that is open, or nil.
func (m *flows) find(id uint32) *flow {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.open[id]
}

// nudge retransmits losses and removes flows that are over.
func (m *flows) nudge() {
	m.mu.Lock()
	all := make([]*flow, 0, len(m.open))
	for id, f := range m.open {
		if f.over() {
			delete(m.open, id)
			continue
		}
		all = append(all, f)
	}
	m.mu.Unlock()
	for _, f := range all {
		f.nudge()
	}
}

// shut resets all flows of a session that has ended.
func (m *flows) shut(cause error) {
	m.mu.Lock()
	m.err = cause
	all := m.open
	m.open = map[uint32]*flow{}
	m.mu.Unlock()
	for _, f := range all {
		f.broken(cause)
	}
}
