// Package cqltest is a minimal server of Cassandra's native protocol, for tests and to measure
// the cost of a client without a database. Its frame parser is independent of the client's.
package cqltest

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
)

// Server answers each INSERT with success, and every other execution with the rows that were
// written under the same first two values, if it keeps them.
type Server struct {
	Keep           bool   // keep rows
	Tokens         string // tokens that it reports
	User, Password string // required credentials; none if empty
	TLS            *tls.Config
	Slow           int // number of writes that time out at first

	listener net.Listener
	mu       sync.Mutex
	note     []string // made, base and next, as written by the workload cql-iot
	rows     map[string][][]byte
	forgot   atomic.Int64 // number of times that it forgot prepared statements
	slow     atomic.Int64 // rest of Slow
	busy     sync.WaitGroup
	open     map[net.Conn]bool
	ring     *Ring
}

// Listen starts serving at a free loopback port, and returns the address.
func (s *Server) Listen() (address string, err error) {
	if s.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return "", err
	}
	s.slow.Store(int64(s.Slow))
	s.rows, s.open = map[string][][]byte{}, map[net.Conn]bool{}
	s.busy.Go(func() {
		for {
			conn, err := s.listener.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.open[conn] = true
			s.mu.Unlock()
			s.busy.Go(func() {
				s.serve(conn)
				s.mu.Lock()
				delete(s.open, conn)
				s.mu.Unlock()
			})
		}
	})
	return s.listener.Addr().String(), nil
}

// Close closes the server and all connections.
func (s *Server) Close() {
	_ = s.listener.Close()
	s.HangUp()
	s.busy.Wait()
}

// Clients is the number of connections.
func (s *Server) Clients() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

// HangUp closes all connections, as a restart does.
func (s *Server) HangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.open {
		_ = conn.Close()
	}
}

// Lose deletes all rows and their metadata.
func (s *Server) Lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.rows)
}

// Forget drops all prepared statements, as a schema change does.
func (s *Server) Forget() {
	s.forgot.Add(1)
}

// client is the client of a connection.
type client struct {
	known  bool  // authenticated, if required
	forgot int64 // its value when the client last prepared a statement
}

// request is a request of a client.
type request struct {
	version, code byte
	stream        [2]byte
	body          []byte
}

// wire is a connection, with outer frames once negotiated.
type wire struct {
	in     *bufio.Reader
	out    *bufio.Writer
	framed bool
	inner  []byte // of the outer frame that is being read
	answer []byte
	mu     sync.Mutex // of what is written
}

func (s *Server) serve(conn net.Conn) {
	defer conn.Close()
	if s.TLS != nil {
		conn = tls.Server(conn, s.TLS)
	}
	w := &wire{in: bufio.NewReaderSize(conn, 64<<10), out: bufio.NewWriterSize(conn, 64<<10)}
	c := &client{known: s.User == ""}
	for {
		if w.in.Buffered() == 0 && len(w.inner) == 0 && w.flush() != nil {
			return
		}
		r, err := w.read()
		if err != nil {
			return
		}
		code, body := s.reply(r, c)
		if w.write(r, code, body) != nil {
			return
		}
		w.framed = r.version == 5
		if r.code == register {
			defer s.ring.watch(w, r.version)()
		}
	}
}

func (w *wire) flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Flush()
}

// read reads a request, from an outer frame if there is one.
func (w *wire) read() (r request, err error) {
	var head [9]byte
	if !w.framed {
		if _, err := io.ReadFull(w.in, head[:]); err != nil {
			return r, err
		}
		r.body = make([]byte, binary.BigEndian.Uint32(head[5:]))
		_, err = io.ReadFull(w.in, r.body)
	} else {
		for len(w.inner) == 0 {
			if w.inner, err = w.unwrap(); err != nil {
				return r, err
			}
		}
		n := 9 + int(binary.BigEndian.Uint32(w.inner[5:]))
		copy(head[:], w.inner)
		r.body, w.inner = w.inner[9:n], w.inner[n:]
	}
	r.version, r.stream, r.code = head[0], [2]byte(head[2:4]), head[4]
	return r, err
}

var table24 = func() (t [256]uint32) {
	for i := range t {
		c := uint32(i) << 16
		for range 8 {
			if c <<= 1; c>>24 != 0 {
				c ^= 0x1974f0b
			}
		}
		t[i] = c & 0xffffff
	}
	return t
}()

func sum24(b []byte) uint32 {
	c := uint32(0x875060)
	for _, v := range b {
		c = c<<8&0xffffff ^ table24[byte(c>>16)^v]
	}
	return c
}

func sum32(b []byte) uint32 {
	h := crc32.NewIEEE()
	_, _ = h.Write([]byte{0xfa, 0x2d, 0x55, 0xca})
	_, _ = h.Write(b)
	return h.Sum32()
}

// unwrap reads an outer frame, which must be self-contained.
func (w *wire) unwrap() ([]byte, error) {
	var head [6]byte
	if _, err := io.ReadFull(w.in, head[:]); err != nil {
		return nil, err
	}
	field := binary.LittleEndian.Uint64(append(head[:], 0, 0))
	if uint32(field>>24) != sum24(head[:3]) || field>>17&1 != 1 {
		return nil, fmt.Errorf("the header of a frame is wrong")
	}
	b := make([]byte, field&0x1ffff+4)
	if _, err := io.ReadFull(w.in, b); err != nil {
		return nil, err
	}
	payload := b[:len(b)-4]
	if binary.LittleEndian.Uint32(b[len(b)-4:]) != sum32(payload) {
		return nil, fmt.Errorf("a frame is wrong")
	}
	return payload, nil
}

func (w *wire) write(r request, code byte, body []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := append(w.answer[:0], 0, 0, 0, 0, 0, 0, r.version|0x80, 0, r.stream[0], r.stream[1], code)
	b = append(binary.BigEndian.AppendUint32(b, uint32(len(body))), body...)
	w.answer = b
	if !w.framed {
		_, err := w.out.Write(b[6:])
		return err
	}
	n := len(b) - 6
	b[0], b[1], b[2] = byte(n), byte(n>>8), byte(n>>16)|2
	c := sum24(b[:3])
	b[3], b[4], b[5] = byte(c), byte(c>>8), byte(c>>16)
	b = binary.LittleEndian.AppendUint32(b, sum32(b[6:]))
	w.answer = b
	_, err := w.out.Write(b)
	return err
}

// reply is the response to a request.
func (s *Server) reply(r request, c *client) (code byte, body []byte) {
	const startup, query, prepare, execute, proof = 1, 7, 9, 10, 15
	switch {
	case r.code == startup && !c.known:
		return 3, text(nil, "PasswordAuthenticator")
	case r.code == startup:
		return 2, nil
	case r.code == proof:
		c.known = string(r.body[4:]) == "\x00"+s.User+"\x00"+s.Password
		if !c.known {
			return fault(0x100, "Provided username "+s.User+" and/or password are incorrect")
		}
		return 16, []byte{0xff, 0xff, 0xff, 0xff}
	case !c.known:
		return fault(0x2100, "You have not logged in")
	case r.code == register && s.ring != nil:
		return 2, nil
	case r.code == query:
		n := binary.BigEndian.Uint32(r.body)
		return s.query(string(r.body[4 : 4+n]))
	case r.code == prepare:
		c.forgot = s.forgot.Load()
		n := binary.BigEndian.Uint32(r.body)
		b := text([]byte{0, 0, 0, 4}, string(r.body[4:4+n]))
		if r.version == 5 {
			b = text(b, "metadata")
		}
		return 8, b
	case r.code == execute && s.late():
		return fault(0x1100, "Operation timed out")
	case r.code == execute && c.forgot != s.forgot.Load():
		return fault(0x2500, "Prepared query not found")
	case r.code == execute:
		return s.execute(r)
	}
	return fault(0xa, fmt.Sprintf("a request of kind %d", r.code))
}

// late reports whether an execution times out.
func (s *Server) late() bool {
	return s.slow.Load() > 0 && s.slow.Add(-1) >= 0
}

func text(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(s))), s...)
}

func fault(code uint32, why string) (byte, []byte) {
	return 0, text(binary.BigEndian.AppendUint32(nil, code), why)
}

// void is a result without rows.
var void = []byte{0, 0, 0, 1}

// execute parses the values after the statement ID, which is its text.
func (s *Server) execute(r request) (byte, []byte) {
	n := int(binary.BigEndian.Uint16(r.body))
	insert, rest := strings.HasPrefix(string(r.body[2:8]), "INSERT"), r.body[2+n:]
	if !s.Keep {
		if insert {
			return 8, void
		}
		return 8, table(nil)
	}
	columns := 6
	if strings.Contains(string(r.body[2:2+n]), "writetime") {
		columns = 7
	}
	if r.version == 5 {
		rest = rest[2+binary.BigEndian.Uint16(rest):]
		rest = rest[2+4:]
	} else {
		rest = rest[2+1:]
	}
	rest = rest[2:]
	machine := 4 + int(binary.BigEndian.Uint32(rest))
	sensor := machine + 4 + int(binary.BigEndian.Uint32(rest[machine:]))
	key := string(rest[:sensor])
	s.mu.Lock()
	defer s.mu.Unlock()
	if insert {
		s.rows[key] = append(s.rows[key], rest)
		return 8, void
	}
	return 8, table(s.found(key, rest[sensor:], columns))
}

// found is the rows of a partition: the last ten, or all from a time.
func (s *Server) found(key string, at []byte, columns int) (rows [][]byte) {
	for _, row := range s.rows[key] {
		if columns == 7 {
			if strings.HasPrefix(string(row[len(key):]), string(at)) {
				rows = [][]byte{row}
			}
		} else {
			rows = append(rows, row[:len(row)-12])
		}
	}
	return rows[max(0, len(rows)-10):]
}

// table is a result with encoded rows, without column metadata.
func table(rows [][]byte) []byte {
	columns := byte(6)
	for _, row := range rows {
		columns = 0
		for ; len(row) > 0; columns++ {
			row = row[4+binary.BigEndian.Uint32(row):]
		}
	}
	b := append([]byte{0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0}, columns)
	b = binary.BigEndian.AppendUint32(b, uint32(len(rows)))
	for _, row := range rows {
		b = append(b, row...)
	}
	return b
}
