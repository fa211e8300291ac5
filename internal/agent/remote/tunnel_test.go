package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/platform"
)

var (
	_ platform.Dialer = (*Machine)(nil)
	_ platform.Dialer = (*Lasting)(nil)
)

// dialling is a machine that dials.
type dialling struct {
	echo
	dial func(ctx context.Context, network, address string) (net.Conn, error)
}

func (d *dialling) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if d.dial != nil {
		return d.dial(ctx, network, address)
	}
	return (&net.Dialer{}).DialContext(ctx, network, address)
}

// overTCP is a served machine and its lab, with a real connection between them.
func overTCP(t *testing.T, s Server) *Machine {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	served := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			err = s.Serve(context.Background(), conn)
		}
		served <- err
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	m, err := Connect(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = m.Close()
		<-served
	})
	return m
}

// listening serves connections until the end of the test.
func listening(t *testing.T, network, address string, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	var under sync.WaitGroup
	under.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			under.Go(func() {
				defer conn.Close()
				serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		under.Wait()
	})
	return l.Addr().String()
}

type half interface {
	net.Conn
	CloseWrite() error
}

func dialled(t *testing.T, m *Machine, network, address string) half {
	t.Helper()
	conn, err := m.Dial(t.Context(), network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn.(half)
}

// Many tunnels at once, over a pipe and over TCP, to TCP and unix sockets: each carries its
// own bytes whole, and the answer that a server gives after it has read all.
func TestTunnelsCarryBytesBothWays(t *testing.T) {
	digest := func(conn net.Conn) {
		h := sha256.New()
		n, err := io.Copy(io.MultiWriter(conn, h), conn) // echoes, and has the last word
		if err == nil {
			fmt.Fprintf(conn, "%d %x", n, h.Sum(nil))
		}
	}
	places := map[string]string{"tcp": listening(t, "tcp", "127.0.0.1:0", digest), "unix": listening(t, "unix", filepath.Join(t.TempDir(), "s"), digest)}
	for name, m := range map[string]*Machine{"pipe": connected(t, Server{Machine: &dialling{}}, Client{}).m, "tcp": overTCP(t, Server{Machine: &dialling{}})} {
		var under sync.WaitGroup
		for i := range 20 {
			network := []string{"tcp", "unix"}[i%2]
			under.Go(func() {
				rnd := rand.New(rand.NewPCG(uint64(i), 1))
				data := make([]byte, rnd.IntN(2*window))
				for j := range data {
					data[j] = byte(rnd.Uint32())
				}
				conn, err := m.Dial(t.Context(), network, places[network])
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				go func() {
					_, _ = io.Copy(justWriter{conn}, slowly{bytes.NewReader(data), rand.New(rand.NewPCG(uint64(i), 2))})
					_ = conn.(half).CloseWrite()
				}()
				got, err := io.ReadAll(justReader{slowly{conn, rnd}})
				want := append(bytes.Clone(data), fmt.Sprintf("%d %x", len(data), sha256.Sum256(data))...)
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("%s to %s: %d bytes of %d, %v", name, network, len(got), len(want), err)
				}
				if conn.RemoteAddr().String() != places[network] || conn.RemoteAddr().Network() != network {
					t.Errorf("it leads to %s %s", conn.RemoteAddr().Network(), conn.RemoteAddr())
				}
			})
		}
		under.Wait()
		settled(t, m)
	}
}

type justWriter struct{ io.Writer }

// settled waits until no call is under way on the lab's side.
func settled(t *testing.T, m *Machine) {
	t.Helper()
	for deadline := time.After(10 * time.Second); ; {
		m.mu.Lock()
		n := len(m.calls)
		m.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("%d calls are under way", n)
		case <-time.After(time.Millisecond):
		}
	}
}

// A server that has said all may still read, as one with HTTP's half-closed connections.
func TestATunnelWhoseServerClosedItsHalf(t *testing.T) {
	heard := make(chan string, 1)
	at := listening(t, "tcp", "127.0.0.1:0", func(conn net.Conn) {
		_, _ = io.WriteString(conn, "bye")
		_ = conn.(*net.TCPConn).CloseWrite()
		text, _ := io.ReadAll(conn)
		heard <- string(text)
	})
	conn := dialled(t, overTCP(t, Server{Machine: &dialling{}}), "tcp", at)
	if text, err := io.ReadAll(conn); string(text) != "bye" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := io.WriteString(conn, "wait"); err != nil {
		t.Error(err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	if got := <-heard; got != "wait" {
		t.Errorf("what was written before Close arrives as %q", got)
	}
	if _, err := conn.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("write after Close: %v", err)
	}
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("read after Close: %v", err)
	}
	if err := conn.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("second Close: %v", err)
	}
}

// Why a tunnel cannot be made keeps its identity, and the lab goes on.
func TestTunnelsThatCannotBe(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().String()
	_ = l.Close()
	unresolving := &net.DNSError{Err: "no such host", Name: "nowhere.invalid", IsNotFound: true}
	d := &dialling{}
	d.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		switch address {
		case "nowhere.invalid:1":
			return nil, &net.OpError{Op: "dial", Err: unresolving}
		case "slow:1":
			return nil, &net.OpError{Op: "dial", Err: syscall.ETIMEDOUT}
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	m := connected(t, Server{Machine: d}, Client{}).m
	for _, c := range []struct {
		network, address string
		is               func(error) bool
	}{
		{"tcp", closed, func(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }},
		{"unix", "/no/such/socket", func(err error) bool { return errors.Is(err, fs.ErrNotExist) }},
		{"tcp", "nowhere.invalid:1", func(err error) bool { var e *net.DNSError; return errors.As(err, &e) }},
		{"tcp", "slow:1", func(err error) bool { var e net.Error; return errors.As(err, &e) && e.Timeout() }},
		{"udp", closed, func(err error) bool { return errors.Is(err, errors.ErrUnsupported) }},
	} {
		if _, err := m.Dial(t.Context(), c.network, c.address); err == nil || !c.is(err) {
			t.Errorf("%s %s: %v", c.network, c.address, err)
		}
	}
	if _, err := connected(t, Server{Machine: &echo{}}, Client{}).m.Dial(t.Context(), "tcp", closed); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("through a machine that does not dial: %v", err)
	}
	settled(t, m)
}

// A server that resets, or that goes away while it is written to, is seen as such.
func TestATunnelThatIsReset(t *testing.T) {
	at := listening(t, "tcp", "127.0.0.1:0", func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 1))
		_ = conn.(*net.TCPConn).SetLinger(0)
	})
	conn := dialled(t, overTCP(t, Server{Machine: &dialling{}}), "tcp", at)
	if _, err := io.WriteString(conn, "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("read: %v", err)
	}
	var err error
	for deadline := time.Now().Add(10 * time.Second); err == nil && time.Now().Before(deadline); {
		_, err = conn.Write(make([]byte, chunk))
	}
	if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
		t.Errorf("write: %v", err)
	}
}

// Reads and writes give up at their deadlines, and go on after they were moved.
func TestDeadlinesOfATunnel(t *testing.T) {
	said := make(chan struct{})
	at := listening(t, "tcp", "127.0.0.1:0", func(conn net.Conn) {
		<-said
		_, _ = io.Copy(conn, io.LimitReader(conn, 1))
		_, _ = io.Copy(io.Discard, conn) // what is unread when it closes would reset the connection, and its answer with it
	})
	conn := dialled(t, overTCP(t, Server{Machine: &dialling{}}), "tcp", at)
	_ = conn.SetReadDeadline(time.Now().Add(30 * time.Millisecond))
	began := time.Now()
	_, err := conn.Read(make([]byte, 1))
	var slow net.Error
	if !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &slow) || !slow.Timeout() || time.Since(began) < 30*time.Millisecond {
		t.Errorf("after %s: %v", time.Since(began), err)
	}
	waiting := make(chan error, 1)
	_ = conn.SetReadDeadline(time.Time{})
	go func() { _, err := conn.Read(make([]byte, 1)); waiting <- err }()
	_ = conn.SetReadDeadline(time.Now().Add(-time.Second)) // also of a read under way
	if err := <-waiting; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a read under way: %v", err)
	}
	_ = conn.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
	for err = nil; err == nil; { // nobody reads: the rooms on the way fill up
		_, err = conn.Write(make([]byte, window))
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("write: %v", err)
	}
	_ = conn.SetDeadline(time.Time{})
	close(said)
	if n, err := conn.Read(make([]byte, 2)); n != 1 || err != nil {
		t.Errorf("after the deadline was taken away: %d bytes, %v", n, err)
	}
}

// A tunnel that nobody reads from holds up neither others nor commands, and what waits for
// it is bounded.
func TestATunnelStarvesNobody(t *testing.T) {
	var sent atomic.Int64
	flood := listening(t, "tcp", "127.0.0.1:0", func(conn net.Conn) {
		for {
			n, err := conn.Write(make([]byte, chunk))
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	})
	reflect := listening(t, "tcp", "127.0.0.1:0", func(conn net.Conn) { _, _ = io.Copy(conn, conn) })
	m := overTCP(t, Server{Machine: &dialling{}})
	floods := make([]half, 8)
	for i := range floods {
		floods[i] = dialled(t, m, "tcp", flood)
	}
	conn := dialled(t, m, "tcp", reflect)
	for range 200 {
		if _, err := conn.Write([]byte("ping")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(conn, make([]byte, 4)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.Run(t.Context(), platform.Command{Argv: []string{"x"}}); err != nil {
		t.Error(err)
	}
	for _, f := range floods {
		f := f.(*tunnel)
		f.k.in.mu.Lock()
		if n := len(f.k.in.data); n > window {
			t.Errorf("%d bytes wait", n)
		}
		f.k.in.mu.Unlock()
		_ = f.Close()
	}
	_ = conn.Close()
	settled(t, m)
}

// Tunnels leave room for other calls, however many are asked for.
func TestTunnelsAreBounded(t *testing.T) {
	m := connected(t, Server{Machine: &dialling{dial: func(context.Context, string, string) (net.Conn, error) {
		near, _ := net.Pipe()
		return near, nil
	}}}, Client{}).m
	for i := range mostTunnels {
		if _, err := m.Dial(t.Context(), "tcp", "x:1"); err != nil {
			t.Fatalf("tunnel %d: %v", i, err)
		}
	}
	if _, err := m.Dial(t.Context(), "tcp", "x:1"); err == nil || !strings.Contains(err.Error(), "tunnels at once") {
		t.Errorf("one more: %v", err)
	}
	if _, err := m.Run(t.Context(), platform.Command{Argv: []string{"x"}}); err != nil {
		t.Errorf("a command beside them: %v", err)
	}
}

// Cancelling ends the wait for a connection, on both sides; it has no say afterwards.
func TestCancellingADial(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan error, 1)
	d := &dialling{}
	d.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if network != "tcp6" {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}
		close(begun)
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	}
	m := connected(t, Server{Machine: d}, Client{}).m
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-begun; cancel() }()
	if _, err := m.Dial(ctx, "tcp6", "x:1"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the far side: %v", err)
	}
	settled(t, m)
	ctx, cancel = context.WithCancel(t.Context())
	conn, err := m.Dial(ctx, "tcp", listening(t, "tcp", "127.0.0.1:0", func(conn net.Conn) { _, _ = io.Copy(conn, conn) }))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := io.WriteString(conn, "on"); err != nil {
		t.Error(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, 2)); err != nil {
		t.Error(err)
	}
	_ = conn.Close()
}

// When the lab is gone, what it was connected to is let go; when the machine is, so are
// reads and writes.
func TestTunnelsEndWithTheConnection(t *testing.T) {
	before := runtime.NumGoroutine()
	gone := make(chan error, 4)
	at := listening(t, "tcp", "127.0.0.1:0", func(conn net.Conn) {
		_, err := io.Copy(io.Discard, conn)
		gone <- err
	})
	p := connected(t, Server{Machine: &dialling{}}, Client{})
	var conns []half
	for range 4 {
		conns = append(conns, dialled(t, p.m, "tcp", at))
	}
	reading := make(chan error, 1)
	go func() { _, err := conns[0].Read(make([]byte, 1)); reading <- err }()
	_ = p.raw.Close()
	_ = p.end(t)
	for range conns {
		select {
		case <-gone:
		case <-time.After(10 * time.Second):
			t.Fatal("a server is still connected")
		}
	}
	if err := <-reading; err == nil || errors.Is(err, io.EOF) {
		t.Errorf("read: %v", err)
	}
	if _, err := conns[1].Write([]byte("x")); err == nil {
		t.Error("a write to a machine that is gone")
	}
	for _, c := range conns {
		_ = c.Close()
	}
	if _, err := p.m.Dial(t.Context(), "tcp", at); err == nil {
		t.Error("a tunnel through a machine that is gone")
	}
	for deadline := time.After(10 * time.Second); runtime.NumGoroutine() > before+3; {
		select {
		case <-deadline:
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Whatever a far side says of a tunnel, the lab ends with the connection; whatever a lab
// does with one, the far side lets go of what it dialled.
func FuzzTunnel(f *testing.F) {
	ends, _ := json.Marshal(opened{Local: []byte("127.0.0.1:1"), Remote: []byte("x")})
	open := appendFrame(nil, frame{kindOpen, 1, ends})
	f.Add(append(bytes.Clone(open), appendFrame(nil, frame{kindData, 1, []byte("out")})...))
	f.Add(appendFrame(appendFrame(bytes.Clone(open), frame{kind: kindEnd, call: 1}), frame{kindResult, 1, []byte(`{"fault":{"text":"x","is":"reset"}}`)}))
	f.Add(append(bytes.Clone(open), open...))
	f.Add(appendFrame(appendFrame(appendFrame(nil, frame{kindData, 1, []byte("in")}), frame{kind: kindEnd, call: 1}), frame{kind: kindStop, call: 1}))
	f.Add(appendFrame(nil, frame{kindCall, 2, []byte(`{"method":"dial","network":"tcp","name":"eA=="}`)}))
	greeting, err := jsonHello(hello{Protocol: Protocol, Session: "s"})
	if err != nil {
		f.Fatal(err)
	}
	dial, err := json.Marshal(request{Method: methodDial, Network: "tcp", Name: []byte("x:1")})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m := &Machine{link: newLink(context.Background(), &script{Reader: bytes.NewReader(text)}, 0, 0), calls: map[uint32]*call{}, ended: make(chan struct{})}
		k := &call{opened: make(chan struct{})}
		if err := m.enter(k); err != nil {
			t.Fatal(err)
		}
		go m.live()
		conn := &tunnel{link: m.link, k: k, network: "tcp"}
		_, _ = io.Copy(io.Discard, conn)
		<-m.ended
		_, _, _ = conn.RemoteAddr().String(), conn.Close(), conn.LocalAddr().Network()

		var open atomic.Int64
		d := &dialling{dial: func(context.Context, string, string) (net.Conn, error) {
			near, there := net.Pipe()
			open.Add(1)
			go func() {
				_, _ = io.Copy(io.Discard, there)
				_ = there.Close()
				open.Add(-1)
			}()
			return near, nil
		}}
		lab := &script{Reader: io.MultiReader(bytes.NewReader(greeting), bytes.NewReader(appendFrame(nil, frame{kindCall, 1, dial})), bytes.NewReader(text))}
		ended := make(chan error, 1)
		go func() { ended <- Server{Machine: d}.Serve(context.Background(), lab) }()
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			t.Fatal("the far side goes on after the end of its connection")
		}
		for deadline := time.After(5 * time.Second); open.Load() != 0; {
			select {
			case <-deadline:
				t.Fatalf("%d connections are left", open.Load())
			case <-time.After(time.Millisecond):
			}
		}
	})
}
