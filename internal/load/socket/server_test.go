package socket

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/loadtest"
)

// length is how long a load runs where the test does not say.
const length = 80 * time.Millisecond

// short is the stage of loads that take all CPUs.
func short() load.Stage {
	length := loadtest.Short(length)
	return load.Stage{Length: length, Interval: length / 4, Seed: 1}
}

// size is that of a request and of its answer: a number and what is asked for.
const size = 16

// server answers each request of 16 bytes with itself. It can misbehave.
type server struct {
	faults
	address  string
	network  string
	served   atomic.Int64 // requests
	accepted atomic.Int64 // connections

	mu    sync.Mutex
	conns map[net.Conn]bool
	stop  func()
}

// faults are what a server does wrong.
type faults struct {
	stall   func() time.Duration // before an answer; nil never
	drop    int64                // every so manieth datagram is not answered
	reset   int64                // every so manieth request resets its connection
	silent  int64                // every so manieth request is never answered, nor anything after it
	garbage int64                // every so manieth answer is garbage
	half    int64                // after so many requests on a connection its half is closed
	last    int64                // after so many requests it goes for good
	rude    bool                 // closes each new connection
}

func serve(t *testing.T, network string, f faults) *server {
	t.Helper()
	s := &server{faults: f}
	address := "127.0.0.1:0"
	if network == "unix" {
		address = filepath.Join(t.TempDir(), "s")
	}
	s.network, s.conns = network, map[net.Conn]bool{}
	if network == "udp" {
		c, err := net.ListenPacket("udp", address)
		if err != nil {
			t.Fatal(err)
		}
		s.address = c.LocalAddr().String()
		s.stop = func() { _ = c.Close() }
		go s.datagrams(c)
	} else {
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		s.address = l.Addr().String()
		s.stop = func() {
			_ = l.Close()
			s.mu.Lock()
			defer s.mu.Unlock()
			for c := range s.conns {
				_ = c.Close()
			}
		}
		go s.accept(l)
	}
	t.Cleanup(s.stop)
	return s
}

func (s *server) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		s.accepted.Add(1)
		if s.rude {
			_ = c.Close()
			continue
		}
		s.mu.Lock()
		s.conns[c] = true
		s.mu.Unlock()
		go func() {
			s.converse(c)
			s.mu.Lock()
			delete(s.conns, c)
			s.mu.Unlock()
			_ = c.Close()
		}()
	}
}

func every(n, each int64) bool { return each > 0 && n%each == 0 }

func (s *server) converse(c net.Conn) {
	b := make([]byte, 64*size)
	have := 0
	for own := int64(0); ; {
		n, err := c.Read(b[have:])
		if err != nil {
			return
		}
		have += n
		whole := have / size * size
		for at := 0; at < whole; at += size {
			own++
			switch k := s.served.Add(1); {
			case k == s.last:
				s.stop()
				return
			case every(k, s.reset):
				if tcp, ok := c.(*net.TCPConn); ok {
					_ = tcp.SetLinger(0)
				}
				return
			case every(k, s.silent):
				_, _ = io.Copy(io.Discard, c)
				return
			case every(k, s.garbage):
				copy(b[at:], "this is no answer at all")
			case s.half > 0 && own > s.half:
				_ = c.(*net.TCPConn).CloseWrite()
				_, _ = io.Copy(io.Discard, c)
				return
			}
		}
		if s.stall != nil {
			if d := s.stall(); d > 0 {
				<-time.After(d)
			}
		}
		if _, err := c.Write(b[:whole]); err != nil {
			return
		}
		copy(b, b[whole:have])
		have -= whole
	}
}

func (s *server) datagrams(c net.PacketConn) {
	b := make([]byte, 2048)
	for {
		n, from, err := c.ReadFrom(b)
		if err != nil {
			return
		}
		switch k := s.served.Add(1); {
		case k == s.last:
			s.stop()
			return
		case every(k, s.drop):
			continue
		}
		_, _ = c.WriteTo(b[:n], from)
	}
}

// echo is the client's side. Requests carry a number that rises on each
// connection, and the slot.
type echo struct {
	asked, heard uint64
	window       int
	byName       bool // answers may come in any order, or not at all
	twice        bool // a faulty dialogue: it answers every slot twice
	again        int
}

func (e *echo) Request(b []byte, slot int) ([]byte, int) {
	e.asked++
	b = binary.BigEndian.AppendUint64(b, e.asked)
	b = binary.BigEndian.AppendUint64(b, uint64(slot))
	return b, slot % 2
}

func (e *echo) Answer(data []byte) (load.Answer, int, error) {
	if e.twice && e.again > 0 {
		e.again--
		return load.Answer{Slot: 0}, 1, nil
	}
	if len(data) < size {
		return load.Answer{}, 0, nil
	}
	number, slot := binary.BigEndian.Uint64(data), int(binary.BigEndian.Uint64(data[8:]))
	e.heard++
	if slot >= e.window || !e.byName && number != e.heard {
		return load.Answer{}, 0, errors.New("an answer to nothing that was asked")
	}
	used := size
	if e.twice {
		e.again, used = 1, size-1
	}
	return load.Answer{Slot: slot, Bytes: 2 * size}, used, nil
}

func job(s *server, j load.Job) load.Job {
	j.Network, j.Address = s.network, s.address
	j.Classes = []string{"even", "odd"}
	if j.Stage.Interval == 0 {
		j.Stage = load.Stage{Length: length, Interval: length / 4, Seed: 1}
	}
	if j.Dialogue == nil {
		j.Dialogue = func(int) load.Dialogue { return &echo{window: max(1, j.Window), byName: s.network == "udp"} }
	}
	return j
}
