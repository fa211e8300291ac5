package cqltest

import (
	"net"
	"slices"
	"sync"
)

// register is the opcode of REGISTER.
const register = 11

// Ring is several servers that report each other, and send topology events.
type Ring struct {
	mu       sync.Mutex
	members  []*Server
	watchers map[*wire]byte // with their protocol version
}

// NewRing returns a ring of servers that do not listen yet.
func NewRing(servers ...*Server) *Ring {
	r := &Ring{members: servers, watchers: map[*wire]byte{}}
	for _, s := range servers {
		s.ring = r
	}
	return r
}

// Leave removes a server from the ring and sends events. It continues to serve, as a leaving
// node does for a while.
func (r *Ring) Leave(s *Server) {
	r.change(func() { r.members = slices.DeleteFunc(slices.Clone(r.members), func(m *Server) bool { return m == s }) })
}

// Join adds a server to the ring.
func (r *Ring) Join(s *Server) { r.change(func() { r.members = append(slices.Clone(r.members), s) }) }

func (r *Ring) change(do func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	do()
	for w, version := range r.watchers {
		told := text(text(nil, "TOPOLOGY_CHANGE"), "MOVED_NODE")
		told = append(told, 4, 127, 0, 0, 1, 0, 0, 0, 0)
		if w.write(request{version: version, stream: [2]byte{0xff, 0xff}}, 12, told) == nil {
			_ = w.flush()
		}
	}
}

// watch subscribes a client to events until the returned function is called.
func (r *Ring) watch(w *wire, version byte) (end func()) {
	if r == nil {
		return func() {}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watchers[w] = version
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.watchers, w)
	}
}

// rows is system.local or system.peers_v2 of a server.
func (r *Ring) rows(of *Server, itself bool) (rows [][]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range append(slices.Clone(r.members), of) {
		if host, port, err := net.SplitHostPort(s.listener.Addr().String()); err == nil && (s == of) == itself {
			rows = append(rows, []string{port, host, port, s.Tokens})
		}
	}
	if itself {
		rows = rows[:1]
	}
	return rows
}
