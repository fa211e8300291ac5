package reflector

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/loadtest"
	"plimsoll/internal/load/peer"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/service"
)

// TestMain is also the program that the service starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Command {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		err := Serve(ctx, os.Stdin, os.Stdout)
		stop()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// serving starts a reflector in this process, and returns its address.
func serving(t *testing.T, o Options) load.Endpoint {
	t.Helper()
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	ctx, cancel := context.WithCancel(context.Background())
	said, say := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, bytes.NewReader(o.Line()), say) }()
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the reflector ends with %v", err)
		}
	})
	return load.Endpoint{Network: "tcp", Address: strings.TrimSpace(strings.TrimPrefix(line, "reflector listens at "))}
}

// greeted begins a session with a reflector.
func greeted(t *testing.T, at load.Endpoint) (*peer.Session, error) {
	t.Helper()
	conn, err := net.Dial(at.Network, at.Address)
	if err != nil {
		t.Fatal(err)
	}
	return peer.Greet(t.Context(), conn)
}

// begun begins a test, with its clock set.
func begun(t *testing.T, at load.Endpoint, asked peer.Test) (*peer.Session, peer.Ready, net.Conn) {
	t.Helper()
	s, err := greeted(t, at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	ready, err := s.Prepare(t.Context(), asked)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Go(t.Context()); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial(asked.Network, s.At(ready.Port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	return s, ready, conn
}

// counted reads counts until they are as expected, or times out.
func counted(t *testing.T, s *peer.Session, enough func(peer.Counts) bool) peer.Counts {
	t.Helper()
	for over := time.Now().Add(5 * time.Second); ; {
		c, err := s.Counts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if enough(c) || time.Now().After(over) {
			return c
		}
	}
}

func TestEachRequestIsAnswered(t *testing.T) {
	at := serving(t, Options{})
	long := 1 << 20
	if !loadtest.Whole() {
		long = 1 << 17
	}
	for _, c := range []struct {
		request, response, buffer int
		pieces                    []int // sizes of the writes
	}{
		{1, 1, 0, []int{1, 1, 3}},
		{10, 3, 0, []int{1, 9, 25, 5}},
		{100, long, 8 << 10, []int{300}},
		{long, 1, 8 << 10, []int{long / 2, long / 2, long}},
	} {
		s, ready, conn := begun(t, at, peer.Test{Mode: peer.Echo, Network: "tcp", Flows: 1, Request: c.request, Response: c.response,
			SendBuffer: c.buffer, ReceiveBuffer: c.buffer, NoDelay: true})
		if c.buffer > 0 && ready.SendBuffer != 2*c.buffer || !ready.NoDelay {
			t.Errorf("asked for buffers of %d and no delay, got %+v", c.buffer, ready)
		}
		sum := 0
		for _, n := range c.pieces {
			sum += n
		}
		go func() {
			for _, n := range c.pieces {
				conn.Write(make([]byte, n))
			}
		}()
		want := sum / c.request * c.response
		if n, err := io.ReadFull(conn, make([]byte, want)); err != nil {
			t.Fatalf("%+v: %d bytes of %d came: %v", c, n, want, err)
		}
		got := counted(t, s, func(got peer.Counts) bool { return got.Bytes >= int64(sum) })
		if got.Messages != int64(sum/c.request) || got.Bytes != int64(sum) || got.Accepted != 1 || got.Elapsed <= 0 {
			t.Errorf("%+v: counted %+v", c, got)
		}
		conn.SetReadDeadline(time.Now().Add(time.Millisecond))
		if n, _ := conn.Read(make([]byte, 1)); n > 0 {
			t.Errorf("%+v: more came than was asked for", c)
		}
	}
}

func TestFreshConnections(t *testing.T) {
	at := serving(t, Options{Threads: 2})
	s, ready, first := begun(t, at, peer.Test{Mode: peer.Echo, Network: "tcp", Flows: 4, Request: 8, Response: 5, Fresh: true})
	first.Close()
	const times = 300
	for range times {
		conn, err := net.Dial("tcp", s.At(ready.Port))
		if err != nil {
			t.Fatal(err)
		}
		conn.Write(make([]byte, 8))
		if _, err := io.ReadFull(conn, make([]byte, 5)); err != nil {
			t.Fatal(err)
		}
		conn.Close()
	}
	if got := counted(t, s, func(peer.Counts) bool { return true }); got.Messages != times || got.Accepted != times+1 {
		t.Errorf("counted %+v after %d exchanges", got, times)
	}
}

func TestDatagramsAreAnswered(t *testing.T) {
	at := serving(t, Options{Threads: 2})
	s, _, conn := begun(t, at, peer.Test{Mode: peer.Echo, Network: "udp", Flows: 2, Request: 6, Response: 9})
	answer := make([]byte, 100)
	for _, text := range []string{"first.", "second"} {
		conn.Write([]byte(text))
		n, err := conn.Read(answer)
		if err != nil || n != 9 || string(answer[:6]) != text {
			t.Errorf("%q is answered with %q, %v", text, answer[:n], err)
		}
	}
	conn.Write([]byte("another size"))
	got := counted(t, s, func(c peer.Counts) bool { return c.Messages > 1 && c.Strange > 0 })
	if got.Messages != 2 || got.Bytes != 12 || got.Strange != 1 {
		t.Errorf("counted %+v", got)
	}
}

// Packets from another address are neither reflected nor counted.
func TestStrangersAreNotAnswered(t *testing.T) {
	at := serving(t, Options{Listen: "0.0.0.0:0"})
	_, port, _ := net.SplitHostPort(at.Address)
	at.Address = "127.0.0.1:" + port
	s, ready, _ := begun(t, at, peer.Test{Mode: peer.Echo, Network: "udp", Flows: 1, Request: 4, Response: 4})
	d := net.Dialer{LocalAddr: &net.UDPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	stranger, err := d.Dial("udp", s.At(ready.Port))
	if err != nil {
		t.Skip("there is no second loopback address")
	}
	defer stranger.Close()
	stranger.Write(make([]byte, 4))
	if got := counted(t, s, func(c peer.Counts) bool { return c.Messages > 1 && c.Strange > 0 }); got.Strange != 1 || got.Messages != 0 {
		t.Errorf("counted %+v", got)
	}
}

func TestAStreamIsCountedToTheByte(t *testing.T) {
	at := serving(t, Options{})
	s, _, conn := begun(t, at, peer.Test{Mode: peer.Sink, Network: "tcp", Flows: 1, Message: 1000})
	const sum = 3_000_500
	conn.Write(make([]byte, sum))
	if got := counted(t, s, func(c peer.Counts) bool { return c.Bytes >= sum }); got.Bytes != sum || got.Messages != 3000 {
		t.Errorf("counted %+v", got)
	}
	r, err := s.Report(t.Context())
	if err != nil || r.Bytes != sum || r.Machine == nil || r.Machine.Interrupts < 1 {
		t.Errorf("reports %+v, %v", r, err)
	}
}

func TestNumberedDatagramsAreAccountedFor(t *testing.T) {
	at := serving(t, Options{})
	s, _, conn := begun(t, at, peer.Test{Mode: peer.Sink, Network: "udp", Flows: 2, Message: 32, Stamp: 77})
	send := func(h peer.Header, size int) {
		d := make([]byte, max(size, peer.HeaderSize))
		h.Put(d)
		conn.Write(d[:size])
	}
	for _, n := range []uint64{0, 1, 2, 5, 4, 4, 9} { // 3, 6, 7, 8 are missing, 4 is late and repeated
		send(peer.Header{Stamp: 77, Number: n}, 32)
	}
	send(peer.Header{Stamp: 77, Flow: 1}, 32)
	send(peer.Header{Stamp: 77, Flow: 2}, 32)                // no such flow
	send(peer.Header{Stamp: 78}, 32)                         // another test
	send(peer.Header{Stamp: 77, Number: 10}, 31)             // cut
	send(peer.Header{Stamp: 77, Number: 10}, 33)             // too long
	send(peer.Header{Stamp: 77}, 3)                          // no header
	send(peer.Header{Stamp: 77, Number: math.MaxUint64}, 32) // absurd
	got := counted(t, s, func(c peer.Counts) bool { return c.Strange >= 6 && c.Messages >= 7 })
	got.Elapsed = 0
	if want := (peer.Counts{Messages: 7, Bytes: 7 * 32, Missing: 4, Duplicates: 1, Reordered: 1, Strange: 6}); got != want {
		t.Errorf("counted\n%+v, want\n%+v", got, want)
	}
}

// Drops by the kernel at a full buffer are distinguished from losses in the network.
func TestAFullBufferIsSeen(t *testing.T) {
	at := serving(t, Options{})
	s, ready, conn := begun(t, at, peer.Test{Mode: peer.Sink, Network: "udp", Flows: 1, Message: 1400, ReceiveBuffer: 2000})
	if ready.ReceiveBuffer > 10_000 {
		t.Skipf("the kernel makes buffers of at least %d bytes", ready.ReceiveBuffer)
	}
	raw, err := conn.(*net.UDPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	const sent, count = 6400, 64
	b := peer.NewBatch(count, 1400)
	for from := 0; from < sent; from += count {
		for i := range count {
			peer.Header{Number: uint64(from + i)}.Put(b.Datagram(i))
			b.Address(i, 1400)
		}
		raw.Write(func(fd uintptr) bool {
			for done := 0; done < count; {
				n, _ := b.Send(int(fd), done, count)
				done += n
			}
			return true
		})
	}
	got := counted(t, s, func(c peer.Counts) bool { return c.Messages+c.Overflows >= sent })
	if got.Messages+got.Overflows != sent || got.Overflows == 0 || got.Missing > got.Overflows {
		t.Errorf("of %d datagrams, counted %+v", sent, got)
	}
}

func TestItDropsWhatItIsToldTo(t *testing.T) {
	at := serving(t, Options{Drop: .25, Seed: 3})
	s, _, conn := begun(t, at, peer.Test{Mode: peer.Sink, Network: "udp", Flows: 1, Message: 16, ReceiveBuffer: 4 << 20})
	const sent = 4000
	d := make([]byte, 16)
	for n := range uint64(sent) {
		peer.Header{Number: n}.Put(d)
		conn.Write(d)
	}
	got := counted(t, s, func(c peer.Counts) bool { return c.Messages+c.Thrown+c.Overflows >= sent })
	if math.Abs(float64(got.Thrown)-sent/4) > 5*math.Sqrt(sent*.25*.75) || got.Messages+got.Thrown+got.Overflows != sent {
		t.Errorf("of %d datagrams, counted %+v", sent, got)
	}
}

func TestSeveralThreadsShareTheConnections(t *testing.T) {
	at := serving(t, Options{Threads: 3})
	s, ready, _ := begun(t, at, peer.Test{Mode: peer.Echo, Network: "tcp", Flows: 9, Request: 2, Response: 2})
	if ready.Threads != 3 {
		t.Errorf("%d threads serve", ready.Threads)
	}
	for range 8 {
		conn, err := net.Dial("tcp", s.At(ready.Port))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(5 * time.Second))
		conn.Write([]byte("ab"))
		if _, err := io.ReadFull(conn, make([]byte, 2)); err != nil {
			t.Fatal(err)
		}
	}
	if got := counted(t, s, func(c peer.Counts) bool { return c.Accepted >= 9 }); got.Messages != 8 || got.Accepted != 9 {
		t.Errorf("counted %+v", got)
	}
}

func TestRefusals(t *testing.T) {
	at := serving(t, Options{})
	for want, asked := range map[string]peer.Test{
		`network "sctp"`:      {Mode: peer.Echo, Network: "sctp", Flows: 1, Request: 1, Response: 1},
		`mode "guess"`:        {Mode: "guess", Network: "tcp", Flows: 1},
		"0 flows":             {Mode: peer.Echo, Network: "tcp", Request: 1, Response: 1},
		"a request of 0":      {Mode: peer.Echo, Network: "tcp", Flows: 1, Response: 1},
		"a response of 70000": {Mode: peer.Echo, Network: "udp", Flows: 1, Request: 1, Response: 70000},
		"its sequence number": {Mode: peer.Sink, Network: "udp", Flows: 1, Message: 8},
		"requires tcp":        {Mode: peer.Echo, Network: "udp", Flows: 1, Request: 1, Response: 1, Fresh: true},
		"socket buffers":      {Mode: peer.Echo, Network: "tcp", Flows: 1, Request: 1, Response: 1, SendBuffer: -1},
	} {
		s, err := greeted(t, at)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Prepare(t.Context(), asked); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %q", asked, err, want)
		}
		if _, err := s.Counts(t.Context()); err == nil || !strings.Contains(err.Error(), "no test was requested") {
			t.Errorf("counts of no test: %v", err)
		}
		s.Close()
	}
}

// For any input on a control connection, the reflector reports the error, and serves the next
// client.
func TestGarbage(t *testing.T) {
	at := serving(t, Options{})
	for want, text := range map[string]string{
		"does not speak the protocol": "GET / HTTP/1.1\r\n\r\n",
		"more than":                   strings.Repeat("x", 1<<20),
		"unknown field":               "{\"tset\": {}}\n",
		"unknown request":             "{\"test\":{\"mode\":\"sink\",\"network\":\"tcp\",\"flows\":1,\"message\":1}}\n{\"ask\":\"why\"}\n",
	} {
		conn, err := net.Dial("tcp", at.Address)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			io.WriteString(conn, text)
			conn.(*net.TCPConn).CloseWrite()
		}()
		conn.SetDeadline(time.Now().Add(5 * time.Second))
		said, _ := io.ReadAll(conn)
		if want != "more than" && !strings.Contains(string(said), want) { // the message may be lost when the connection is reset
			t.Errorf("%.30q: it says %q, want %q", text, said, want)
		}
		conn.Close()
	}
	s, _, _ := begun(t, at, peer.Test{Mode: peer.Echo, Network: "tcp", Flows: 1, Request: 1, Response: 1})
	if _, err := s.Prepare(t.Context(), peer.Test{}); err == nil || !strings.Contains(err.Error(), "limited to one test") {
		t.Errorf("a second test on the connection: %v", err)
	}
}

func TestTooManyClients(t *testing.T) {
	at := serving(t, Options{})
	for range mostSessions {
		s, err := greeted(t, at)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
	}
	s, err := greeted(t, at)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Status(t.Context()); err == nil || !strings.Contains(err.Error(), "64 clients") {
		t.Errorf("got %v", err)
	}
}

func TestOptionsAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"{\"drop\": 2}":             "2 dropped",
		"{\"threads\": -1}":         "-1 threads",
		"{\"port\": 1}":             "unknown field",
		"{\"listen\": \"nowhere\"}": "listen for network tests",
	} {
		if err := Serve(t.Context(), strings.NewReader(text), io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

func machine(t *testing.T) platform.Machine {
	t.Helper()
	p, err := local.Kind().Open(t.Context(), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p.Machine()
}

func TestInstance(t *testing.T) {
	env := service.Env{Machine: machine(t), Dir: filepath.Join(t.TempDir(), "reflector"), Seed: 5}
	r, err := Kind().New(parameter.Settings{"threads": "2", "drop": "12.5%"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Check(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	i, err := r.Start(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	seen, err := i.Observed(t.Context())
	if err != nil || seen["threads"] != "2" || seen["drop"] != "12.5%" {
		t.Errorf("observed %v, %v", seen, err)
	}
	at, err := i.Endpoint(peer.Protocol)
	if err != nil {
		t.Fatal(err)
	}
	s, _, _ := begun(t, at, peer.Test{Mode: peer.Echo, Network: "tcp", Flows: 1, Request: 1, Response: 1})
	if c, err := i.Counters(t.Context()); err != nil || c["reflector.tests"] != 1 {
		t.Errorf("counters %v, %v", c, err)
	}
	used, err := Kind().New(parameter.Settings{"address": at.Address})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := used.Check(t.Context(), env); err != nil {
		t.Error(err)
	}
	other, err := used.Start(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := i.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	<-s.Gone()
	if !strings.Contains(s.Err().Error(), "reflector") {
		t.Errorf("its client hears %v", s.Err())
	}
	if _, err := os.Stat(env.Dir); err == nil {
		t.Error("its folder is left")
	}
	if _, err := used.Check(t.Context(), env); err == nil || !strings.Contains(err.Error(), "nothing listens") {
		t.Errorf("after its end, the check gives %v", err)
	}
}

func TestSettingsAreRefused(t *testing.T) {
	for want, s := range map[string]parameter.Settings{
		"neither host:port":   {"address": "nowhere"},
		"must be host:port":   {"address": "/tmp/socket"},
		"address and threads": {"address": "127.0.0.1:1", "threads": "2"},
		"address and drop":    {"address": "127.0.0.1:1", "drop": "2%"},
		"at most 1024":        {"threads": "5000"},
	} {
		if _, err := Kind().New(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %q", s, err, want)
		}
	}
}

func TestWhatElseMayListen(t *testing.T) {
	for want, text := range map[string]string{
		"does not speak the protocol":        "HTTP/1.1 400 Bad Request\r\n",
		"version 9":                          "{\"plimsoll\":\"reflect\",\"version\":9}\n",
		"connection closed by the reflector": "",
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			conn, err := l.Accept()
			if err == nil {
				io.WriteString(conn, text)
				conn.Close()
			}
		}()
		_, err = greeted(t, load.Endpoint{Network: "tcp", Address: l.Addr().String()})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
		l.Close()
	}
}

func TestStat(t *testing.T) {
	text := "cpu  100 20 30 4000 50 6 7 8 0 0\ncpu0 1 1 1 1\nintr 12345 1 2 3\nctxt 5\nsoftirq 678 1 2\n"
	m, ok := parseStat([]byte(text))
	if want := (peer.Machine{Busy: 163 * jiffy, Interrupts: 12345, SoftIRQs: 678}); !ok || m != want {
		t.Errorf("read %+v, %v, want %+v", m, ok, want)
	}
	if _, ok := parseStat([]byte(text[:30])); ok {
		t.Error("a part of the file passes")
	}
}

func FuzzStat(f *testing.F) {
	f.Add([]byte("cpu 1 2 3\nintr 5\nsoftirq 9\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, ok := parseStat(text); ok && !bytes.Contains(text, []byte("softirq")) {
			t.Error("softirqs from nowhere")
		}
	})
}

func TestDocumentedMetrics(t *testing.T) {
	if k := Kind(); !slices.Contains(k.Speaks, peer.Protocol) || len(k.Metrics) == 0 || k.Doc == "" {
		t.Errorf("the kind is incomplete: %+v", k)
	}
	if text := (Options{Listen: "x", Drop: .5}).Line(); !json.Valid(text) {
		t.Errorf("options are written as %s", text)
	}
}
