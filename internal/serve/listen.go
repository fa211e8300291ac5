package serve

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	headerTime  = 5 * time.Second  // for the head of a request
	readTime    = 10 * time.Second // for a whole request
	writeTime   = 30 * time.Second // for an answer; streams have a time for each event
	idleTime    = time.Minute      // between two requests of a connection
	endTime     = 3 * time.Second  // for requests under way, when the server ends
	mostHeader  = 16 << 10         // bytes
	mostOpen    = 256              // connections
	niceness    = 10
	shortestKey = 20 // characters of a token
)

// loopback reports whether only programs of this host reach an address.
func loopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// Listen listens on an address. One beyond loopback is refused unless requests are authenticated and encrypted.
func Listen(address string, o Options) (net.Listener, error) {
	at, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	if !loopback(at) && (o.Token == "" || o.Certificate == nil) {
		return nil, fmt.Errorf("%s is reached from other hosts: it requires a token and TLS, --token-file, --tls-cert and --tls-key", address)
	}
	l, err := net.ListenTCP("tcp", at)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("listen on %s: another program uses the port: choose another one with --listen, such as 127.0.0.1:0 for any", address)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return l, nil
}

// ReadToken reads a token from a file that nobody else can read.
func ReadToken(name string) (string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s must be a file that only its owner can read: chmod 600 %s", name, name)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if len(token) < shortestKey || strings.ContainsAny(token, " \t\r\n") {
		return "", fmt.Errorf("the token in %s must have at least %d characters and no spaces, as of: openssl rand -hex 32", name, shortestKey)
	}
	return token, nil
}

// ReadCertificate reads a key pair.
func ReadCertificate(certificate, key string) (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("read the key pair %s and %s: %w", certificate, key, err)
	}
	if pair.Leaf == nil {
		if pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return nil, fmt.Errorf("read %s: %w", certificate, err)
		}
	}
	return &pair, nil
}

// Serve answers the requests of a listener until the context ends, and closes it.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	defer s.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	open := &connections{states: map[net.Conn]connection{}}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	server := &http.Server{
		Handler: s.Handler(), Protocols: protocols, ReadHeaderTimeout: headerTime, ReadTimeout: readTime, WriteTimeout: writeTime, IdleTimeout: idleTime,
		MaxHeaderBytes: mostHeader, ConnState: open.change, ErrorLog: log.New(io.Discard, "", 0), BaseContext: func(net.Listener) context.Context { return ctx },
	}
	if s.options.Certificate != nil {
		listener = tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{*s.options.Certificate}, MinVersion: tls.VersionTLS13})
	}
	yield()
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	cancel() // streams end
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer stop()
	if err := server.Shutdown(last); err != nil {
		_ = server.Close() // a slow client
	}
	return nil
}

// connections closes the connection that has waited longest when there are too many, so that nobody can hold all of them without asking for anything.
type connections struct {
	mu     sync.Mutex
	states map[net.Conn]connection
}

type connection struct {
	waits bool // for a request
	since time.Time
}

func (c *connections) change(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateClosed, http.StateHijacked:
		delete(c.states, conn)
		return
	case http.StateNew:
		if len(c.states) >= mostOpen {
			c.evict(conn)
		}
	}
	c.states[conn] = connection{state != http.StateActive, time.Now()}
}

// evict closes the connection that has waited longest, else the new one.
func (c *connections) evict(fresh net.Conn) {
	oldest := fresh
	since := time.Now()
	for conn, s := range c.states {
		if s.waits && s.since.Before(since) {
			oldest, since = conn, s.since
		}
	}
	delete(c.states, oldest)
	if secure, ok := oldest.(*tls.Conn); ok {
		oldest = secure.NetConn() // without a farewell, for which it would be waited
	}
	_ = oldest.Close()
}

// yield lowers the priority of this process: of the threads that it has, from which later ones inherit it.
func yield() {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, t := range threads {
		if id, err := strconv.Atoi(t.Name()); err == nil {
			_ = syscall.Setpriority(syscall.PRIO_PROCESS, id, niceness)
		}
	}
}
