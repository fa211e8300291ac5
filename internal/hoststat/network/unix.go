package network

import (
	"bytes"
	"encoding/binary"
	"maps"
)

const (
	unixRequest = 24 // struct unix_diag_req of include/uapi/linux/unix_diag.h
	unixHeader  = 16 // struct unix_diag_msg
	localFamily = 1  // AF_UNIX
	showName    = 1  // UDIAG_SHOW_NAME
	showQueue   = 16 // UDIAG_SHOW_RQLEN
	unixName    = 0  // UNIX_DIAG_NAME
	unixQueue   = 4  // UNIX_DIAG_RQLEN
)

// unixSocket is a Unix socket as the kernel reports it.
type unixSocket struct {
	inode       uint32
	name        string // path, or @ and an abstract name; empty for a socket without one
	queue, room uint32 // of one that listens: connections not accepted, and its backlog
}

// requestUnix asks for the Unix sockets in some states.
func requestUnix(states, show uint32) []byte {
	body := make([]byte, unixRequest)
	body[0] = localFamily
	binary.NativeEndian.PutUint32(body[4:], states)
	binary.NativeEndian.PutUint32(body[12:], show)
	return dumpRequest(diagRequest, body)
}

// parseUnix parses struct unix_diag_msg and its attributes.
func parseUnix(body []byte) (s unixSocket, ok bool) {
	if len(body) < unixHeader || body[0] != localFamily {
		return s, false
	}
	s.inode = binary.NativeEndian.Uint32(body[4:])
	attributes(body[unixHeader:], func(kind uint16, value []byte) {
		switch {
		case kind == unixName && len(value) > 0 && value[0] == 0:
			s.name = "@" + string(bytes.TrimRight(value[1:], "\x00"))
		case kind == unixName:
			s.name = text(value)
		case kind == unixQueue && len(value) >= 8:
			s.queue, s.room = binary.NativeEndian.Uint32(value), binary.NativeEndian.Uint32(value[4:])
		}
	})
	return s, true
}

// dumpUnix asks for Unix sockets in all spaces. Kernels without unix_diag, and namespaces that cannot
// be entered, have none.
func dumpUnix(k Kernel, spaces []int, request []byte, use func(space int, s unixSocket)) {
	for _, space := range append([]int{0}, spaces...) {
		_ = k.Dump(space, inetDiag, request, func(kind uint16, body []byte) {
			if s, ok := parseUnix(body); ok && kind == diagRequest {
				use(space, s)
			}
		})
	}
}

// unixTable follows the Unix sockets that listen.
type unixTable struct {
	listeners map[unixKey]*unixListener
}

type unixKey struct {
	space int
	inode uint32
}

type unixListener struct {
	Listener
	tries int // to find its owner
}

// read reads the sockets that listen. Their queue is full when it holds one connection more than
// the backlog (unix_recvq_full of net/unix/af_unix.c).
func (t *unixTable) read(k Kernel, passed float64, spaces []int, owner func(inode uint32) (int, string)) (unknown int) {
	seen := map[unixKey]bool{}
	dumpUnix(k, spaces, requestUnix(1<<listening, showName|showQueue), func(space int, s unixSocket) {
		key := unixKey{space, s.inode}
		l := t.listeners[key]
		if l == nil {
			if len(t.listeners) >= mostListeners || s.name == "" {
				return
			}
			l = &unixListener{Listener: Listener{Space: space, Address: s.name}}
			t.listeners[key] = l
		}
		seen[key] = true
		if l.PID == 0 {
			if l.PID, l.Program = owner(s.inode); l.PID == 0 && l.tries < mostTries {
				l.tries++
				unknown++
			}
		}
		l.Queue, l.Backlog = float64(s.queue), float64(s.room)
		if s.queue > 0 {
			l.Waiting += passed
		}
		if s.queue > s.room {
			l.Full += passed
		}
	})
	maps.DeleteFunc(t.listeners, func(key unixKey, _ *unixListener) bool { return !seen[key] })
	return unknown
}

// count counts the connections of the sockets that listen: those that they accepted have their name.
func (t *unixTable) count(k Kernel, spaces []int) {
	type name struct {
		space int
		name  string
	}
	connections := map[name]float64{}
	dumpUnix(k, spaces, requestUnix(1<<established, showName), func(space int, s unixSocket) {
		if s.name != "" {
			connections[name{space, s.name}]++
		}
	})
	for key, l := range t.listeners {
		l.Connections = max(0, connections[name{key.space, l.Address}]-l.Queue) // those not accepted have the name too
	}
}
