package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"plimsoll/cmd/plimsoll/cli"
	"plimsoll/internal/cql/cqltest"
	"plimsoll/internal/enginetest"
	"plimsoll/internal/workload/engine"
)

// proxy stands before a real server, and turns evil when it is told.
type proxy struct {
	at      string
	server  string
	evil    atomic.Bool
	turn    func(c net.Conn)
	mu      sync.Mutex
	clients map[net.Conn]bool
}

func newProxy(t *testing.T, server string, turn func(net.Conn)) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{at: l.Addr().String(), server: server, turn: turn, clients: map[net.Conn]bool{}}
	t.Cleanup(func() {
		l.Close()
		p.mu.Lock()
		defer p.mu.Unlock()
		for c := range p.clients {
			c.Close()
		}
	})
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.mu.Lock()
			p.clients[c] = true
			p.mu.Unlock()
			go p.serve(c)
		}
	}()
	return p
}

func (p *proxy) serve(c net.Conn) {
	defer c.Close()
	if p.evil.Load() {
		p.turn(c)
		return
	}
	s, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer s.Close()
	go func() { _, _ = io.Copy(s, c) }() // until one side ends
	chunk := make([]byte, 64<<10)
	for {
		n, err := s.Read(chunk)
		if p.evil.Load() {
			p.turn(c)
			return
		}
		if _, failed := c.Write(chunk[:n]); err != nil || failed != nil {
			return
		}
	}
}

// The ways in which a server turns evil. Huge is the beginning of an answer that announces
// more than there can be.
func evils(huge string) map[string]func(net.Conn) {
	flood := func(c net.Conn, chunk []byte) {
		for {
			if _, err := c.Write(chunk); err != nil {
				return
			}
		}
	}
	return map[string]func(net.Conn){
		"garbage": func(c net.Conn) { flood(c, bytes.Repeat([]byte{0xff, 0, 0x80, 13, 10, 7, 0x5a}, 4096)) },
		"endless": func(c net.Conn) {
			_, _ = io.WriteString(c, huge) // the client may be gone
			flood(c, bytes.Repeat([]byte("a"), 64<<10))
		},
		"slow": func(c net.Conn) {
			for _, b := range []byte(huge + strings.Repeat("a", 1000)) {
				if _, err := c.Write([]byte{b}); err != nil {
					return
				}
				<-time.After(100 * time.Millisecond)
			}
		},
		"closes": func(net.Conn) {},
		"resets": func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0) },
		"silent": func(c net.Conn) { _, _ = io.Copy(io.Discard, c) },
	}
}

// evilCase is a protocol with a real server.
type evilCase struct {
	name, huge string
	start      func(t *testing.T) (address string)
	study      string // %s is the address
}

func program(name string, args ...string) func(t *testing.T) string {
	return func(t *testing.T) string {
		t.Helper()
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(err)
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		at := l.Addr().String()
		l.Close()
		_, port, _ := net.SplitHostPort(at)
		words := append([]string{}, args...)
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], "PORT", port)
		}
		c := exec.Command(name, words...)
		c.Dir = t.TempDir()
		c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
		for over := time.Now().Add(20 * time.Second); ; <-time.After(20 * time.Millisecond) {
			if conn, err := net.Dial("tcp", at); err == nil {
				conn.Close()
				return at
			} else if time.Now().After(over) {
				t.Fatal(err)
			}
		}
	}
}

func database(protocol string) func(t *testing.T) string {
	return func(t *testing.T) string {
		t.Helper()
		return enginetest.Start(t, enginetest.Setup{Protocol: protocol}).At.Address
	}
}

var evilCases = []evilCase{
	{"http", "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\n", func(t *testing.T) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
		t.Cleanup(s.Close)
		return s.Listener.Addr().String()
	}, `service: {nginx: {address: "%s"}}
workload: {web: {connections: 2, timeout: 300ms, pages: ["/"]}}
headline: [requests]`},
	{"http2", "\xff\xff\xff\x00\x00\x00\x00\x00\x01", func(t *testing.T) string {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
		s.Config.Protocols = new(http.Protocols)
		s.Config.Protocols.SetUnencryptedHTTP2(true)
		s.Start()
		t.Cleanup(s.Close)
		return s.Listener.Addr().String()
	}, `service: {nginx: {address: "%s"}}
workload: {web: {connections: 2, timeout: 300ms, version: "2", pages: ["/"]}}
headline: [requests]`},
	{"redis", "$2147483647\r\n", program("redis-server", "--port", "PORT", "--save", ""), `service: {redis: {address: "%s"}}
workload: {keyvalue: {keys: 100, connections: 2, timeout: 300ms}}
headline: [operations]`},
	{"memcached", "VALUE k 0 2147483647\r\n", program("memcached", "-p", "PORT", "-U", "0", "-l", "127.0.0.1", "-u", "nobody"), `service: {memcached: {address: "%s"}}
workload: {keyvalue: {protocol: memcached, keys: 100, connections: 2, timeout: 300ms}}
headline: [operations]`},
	{"postgresql", "D\x7f\xff\xff\xff", database(engine.PostgreSQL), `service: {postgresql: {address: "%s", user: postgres, database: postgres}}
workload: {oltp: {tables: 1, rows: 200, connections: 2, timeout: 300ms}}
headline: [transactions]`},
	{"mariadb", "\xff\xff\xff\x01", database(engine.MariaDB), `service: {mariadb: {address: "%s", user: root}}
workload: {oltp: {tables: 1, rows: 200, connections: 2, timeout: 300ms}}
headline: [transactions]`},
	{"cql", "\x84\x00\x00\x00\x08\x7f\xff\xff\xff", func(t *testing.T) string {
		s := &cqltest.Server{Keep: true}
		at, err := s.Listen()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		return at
	}, `service: {cassandra: {address: "%s"}}
workload: {cql-iot: {rampup: 100, connections: 2, timeout: 300ms}}
headline: [cycles]`},
}

// A server that turns evil in the middle of a measurement costs trials, and neither the end
// of the run nor memory. With PLIMSOLL_DEEP=1 in every way.
func TestServersThatTurnEvil(t *testing.T) {
	isReal(t, "measure real servers")
	for _, c := range evilCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := c.start(t)
			for name, turn := range evils(c.huge) {
				if os.Getenv("PLIMSOLL_DEEP") == "" && name != "garbage" && name != "endless" {
					continue // they take up to a minute each
				}
				t.Run(name, func(t *testing.T) { c.run(t, newProxy(t, server, turn)) })
			}
		})
	}
}

func (c evilCase) run(t *testing.T, p *proxy) {
	r := &rig{t: t, dir: t.TempDir()}
	text := "study: evil\nquestion: Does it end?\nplatform: local\nmargin: 50%\n" +
		"measure: {settle: 10ms, warmup: 100ms, window: 400ms, longest: 1s, interval: 100ms, blocks: 40, retries: 2}\n" + fmt.Sprintf(c.study, p.at) + "\n"
	if err := os.WriteFile(filepath.Join(r.dir, "study.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := r.command("run", "study.yaml", "--out", "out", "--seed", "3", "--quiet")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	go func() { gone <- cmd.Wait() }()
	late := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Signal(syscall.SIGABRT) })
	defer late.Stop()
	ended := func() bool { return len(r.ended("out")) > 0 }
	for !ended() {
		select {
		case err := <-gone:
			t.Fatalf("it ended before the first trial: %v: %s", err, said.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
	<-time.After(300 * time.Millisecond) // in the middle of the next
	p.evil.Store(true)
	from := time.Now()
	<-gone
	if code := cmd.ProcessState.ExitCode(); code != cli.ExitTrouble && code != cli.ExitDone && code != cli.ExitVerdict && code != cli.ExitOpen {
		t.Errorf("it ended with %s: %s", cmd.ProcessState, said.String())
	}
	used := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10
	t.Logf("it ended %v later with status %d, of %d MiB at most: %s", time.Since(from).Round(time.Second), cmd.ProcessState.ExitCode(), used, last(said.String()))
	if took := time.Since(from); took > 100*time.Second {
		t.Errorf("it took %v to end", took)
	}
	if used > 400 {
		t.Errorf("it took %d MiB", used)
	}
}

func last(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
