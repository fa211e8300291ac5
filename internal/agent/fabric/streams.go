package fabric

import (
	"errors"
	"sync"
)

// mostStreams is how many streams a session carries at once.
const mostStreams = 1024

// streams are those of one session. The lab opens them, the agent accepts them.
type streams struct {
	send   func(frame)
	accept func(*Stream) // nil on the lab's side

	mu   sync.Mutex
	err  error
	last uint32 // the newest stream
	open map[uint32]*Stream
}

func newStreams(send func(frame), accept func(*Stream)) *streams {
	return &streams{send: send, accept: accept, open: map[uint32]*Stream{}}
}

// begin opens a stream. It does not wait for the other side.
func (m *streams) begin() (*Stream, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return nil, m.err
	}
	if len(m.open) >= mostStreams {
		return nil, errors.New("too many streams to one agent are open: close those that are not needed")
	}
	m.last++
	s := newStream(m.last, m.send, true)
	m.open[s.id] = s
	m.send(frame{op: opOpen, stream: s.id})
	return s, nil
}

// take passes a frame on to its stream.
func (m *streams) take(data []byte) {
	f, err := decodeFrame(data)
	if err != nil {
		return
	}
	m.mu.Lock()
	s := m.open[f.stream]
	fresh := s == nil && f.op == opOpen && m.accept != nil && m.err == nil && f.stream > m.last
	if fresh && len(m.open) < mostStreams {
		s = newStream(f.stream, m.send, false)
		m.open[f.stream], m.last = s, f.stream
	}
	known := f.stream <= m.last
	m.mu.Unlock()
	switch {
	case s != nil:
		s.take(f)
		if fresh {
			m.accept(s)
		}
	case f.op == opEnd && known: // its acknowledgement got lost
		m.send(ackOf(f.stream, f.offset+1, f.offset))
	case f.op == opData && known:
		m.send(frame{op: opReset, stream: f.stream, data: []byte("the stream is closed")})
	}
}

// nudge sends again what got lost and forgets streams that are over. It is called
// once a second.
func (m *streams) nudge() {
	m.mu.Lock()
	all := make([]*Stream, 0, len(m.open))
	for id, s := range m.open {
		if s.over() {
			delete(m.open, id)
			continue
		}
		all = append(all, s)
	}
	m.mu.Unlock()
	for _, s := range all {
		s.nudge()
	}
}

// shut breaks off all streams of a session that has ended.
func (m *streams) shut(cause error) {
	m.mu.Lock()
	m.err = cause
	all := m.open
	m.open = map[uint32]*Stream{}
	m.mu.Unlock()
	for _, s := range all {
		s.broken(cause)
	}
}
