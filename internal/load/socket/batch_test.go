//go:build linux

package socket

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/loadtest"
)

// message is a control message (cmsg(3)) with some numbers.
func message(level, kind int32, data ...uint64) []byte {
	m := make([]byte, syscall.SizeofCmsghdr)
	for _, d := range data {
		m = binary.NativeEndian.AppendUint64(m, d)
	}
	binary.NativeEndian.PutUint64(m, uint64(len(m)))
	binary.NativeEndian.PutUint32(m[8:], uint32(level))
	binary.NativeEndian.PutUint32(m[12:], uint32(kind))
	return m
}

func TestStampIn(t *testing.T) {
	stamp := message(syscall.SOL_SOCKET, syscall.SO_TIMESTAMPNS, 1_764_000_000, 7)
	other := message(syscall.SOL_SOCKET, syscall.SO_RXQ_OVFL, 1)
	broken := message(syscall.SOL_SOCKET, syscall.SO_TIMESTAMPNS, 1, 2)
	broken[0] = 200
	for name, c := range map[string]struct {
		control []byte
		want    int64
	}{
		"none": {nil, 0}, "one": {stamp, 1_764_000_000_000_000_007}, "after another": {append(other[:len(other):len(other)], stamp...), 1_764_000_000_000_000_007},
		"another": {other, 0}, "half": {stamp[:20], 0}, "too long": {broken, 0}, "32 bits": {message(syscall.SOL_SOCKET, syscall.SO_TIMESTAMPNS, 1), 0},
	} {
		if got := stampIn(c.control); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// The stamp of a read is the arrival of its last byte, however long it lay there.
func TestStampedRead(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	client, err := net.Dial("tcp", server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	peer, err := server.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	raw, err := client.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	on := func(do func(fd int)) {
		if err := raw.Control(func(fd uintptr) { do(int(fd)) }); err != nil {
			t.Fatal(err)
		}
	}
	on(func(fd int) { err = stampArrivals(fd) })
	if err != nil {
		t.Fatal(err)
	}
	var r stampedReader
	buffer := make([]byte, 100)
	for tries := 0; ; tries++ { // the kernel begins to stamp some time after it was asked to
		before := time.Now().UnixNano()
		for _, part := range []string{"abc", "def"} {
			if _, err := io.WriteString(peer, part); err != nil {
				t.Fatal(err)
			}
		}
		sent := time.Now().UnixNano()
		sleep(20 * time.Millisecond)
		var n int
		var stamp int64
		var errno syscall.Errno
		on(func(fd int) { n, stamp, errno = r.read(fd, buffer) })
		if errno != 0 || string(buffer[:n]) != "abcdef" {
			t.Fatalf("read %q, %v", buffer[:max(0, n)], errno)
		}
		if stamp == 0 && tries < 100 {
			continue
		}
		if stamp < before || stamp > sent {
			t.Errorf("the stamp is %d, and the data was sent from %d to %d", stamp, before, sent)
		}
		on(func(fd int) { _, _, errno = r.read(fd, buffer) })
		if errno != syscall.EAGAIN {
			t.Errorf("without data: %v", errno)
		}
		return
	}
}

// sentFirst makes a request once the server has received those before it, or notes that it has not.
type sentFirst struct {
	*echo
	server *server
	made   *atomic.Int64 // requests of all connections
	held   *atomic.Bool
}

func (s *sentFirst) Request(b []byte, slot int) ([]byte, int) {
	before := s.made.Add(1) - 1
	for patience := time.After(20 * time.Second); s.server.served.Load() < before && !s.held.Load(); {
		select {
		case <-patience:
			s.held.Store(true)
		default:
			runtime.Gosched()
		}
	}
	return s.echo.Request(b, slot)
}

// Operations that are due in the same tick start one after another: the time that the others take to send is part of no response time.
func TestAnOperationStartsOnceTheOneBeforeIsSent(t *testing.T) {
	s := serve(t, "tcp", faults{})
	var made atomic.Int64
	var held atomic.Bool
	loop(Run).run(t, job(s, load.Job{
		Connections: 20, Arrivals: load.Arrivals{Rate: 1000}, Tick: 20 * time.Millisecond, Stage: load.Stage{Length: length, Interval: length},
		Dialogue: func(int) load.Dialogue { return &sentFirst{&echo{window: 1}, s, &made, &held} },
	}))
	if made.Load() < 40 {
		t.Fatalf("only %d operations", made.Load())
	}
	if held.Load() {
		t.Error("an operation started while the one before was not sent")
	}
}

// With a tick the thread reads late, and the response time is that of the server.
func TestServiceTimeWithinATick(t *testing.T) {
	const tick, most, length = 40 * time.Millisecond, 15 * time.Millisecond, 800 * time.Millisecond
	for name, stall := range map[string]time.Duration{"at once": 0, "after 20 ms": 20 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loadtest.Calm(t, func() error {
				s := serve(t, "tcp", faults{stall: func() time.Duration { return stall }})
				r := loop(Run).run(t, job(s, load.Job{
					Connections: 60, Arrivals: load.Arrivals{Rate: 500}, Tick: tick, Stage: load.Stage{Length: length, Interval: length / 4},
				}))
				sum := r.summary(t, load.Job{Stage: load.Stage{Length: length}})
				p50 := time.Duration(sum.Values["service.p50"] * float64(time.Second))
				if r.operations < 350 {
					return fmt.Errorf("only %d operations", r.operations)
				}
				if p50 < stall || p50 > stall+most {
					return fmt.Errorf("the median of the service time is %s with a tick of %s, and a server that takes %s", p50, tick, stall)
				}
				return nil
			})
		})
	}
}
