package responder

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"runtime"
	"sync"
	"time"

	"plimsoll/internal/parameter"
	"plimsoll/internal/service"
)

// Serve is the server process: it reads its configuration from in, prints one line of JSON
// to out when it listens, and serves until the context ends. It sets GOMAXPROCS, so the
// process must be its own.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	var o order
	if err := json.NewDecoder(in).Decode(&o); err != nil {
		return fmt.Errorf("read what to serve: %w", err)
	}
	var s Settings
	maps.DeleteFunc(o.Settings, func(_, text string) bool { return text == "" }) // rates that are not set
	if err := parameter.Decode(&s, o.Settings); err != nil {
		return fmt.Errorf("read what to serve: %w", err)
	}
	server := &server{settings: s, host: cmp.Or(o.Host, "127.0.0.1"), seed: o.Seed, counts: &counts{}, keys: map[string]*store{"redis": newStore(), "memcached": newStore()}, site: newSite(s.pages(o.Seed))}
	for _, k := range server.keys {
		k.vice = newVice(s, server.counts)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer server.close()
	defer cancel() // cancelled first, so that the pacer ends
	if err := server.start(ctx); err != nil {
		return err
	}
	greeting, err := json.Marshal(server.greeting)
	if err != nil {
		return fmt.Errorf("print the address of the server: %w", err)
	}
	if _, err := fmt.Fprintf(out, "%s\n", greeting); err != nil {
		return fmt.Errorf("print the address of the server: %w", err)
	}
	<-ctx.Done()
	return nil
}

// server owns all listeners.
type server struct {
	settings Settings
	host     string // listen addresses
	seed     uint64
	counts   *counts
	keys     map[string]*store
	site     *content
	delay    *delay
	greeting greeting
	before   int // GOMAXPROCS before the change

	mu     sync.Mutex
	open   map[io.Closer]bool // listeners, HTTP servers and connections
	closed bool
	done   sync.WaitGroup
}

func (s *server) start(ctx context.Context) error {
	threads := s.settings.Threads
	if s.settings.delays() {
		p, err := newPacer(ctx, time.Now())
		if err != nil {
			return fmt.Errorf("start the pacer: %w", err)
		}
		s.delay = &delay{newQueue(s.settings, s.seed), p}
		threads++ // the pacer occupies a processor of the runtime while it sleeps
	}
	s.before = runtime.GOMAXPROCS(threads)
	s.open = map[io.Closer]bool{}
	s.greeting.Listening = map[string]string{}
	err := s.listen("control", s.http(&http.Server{Handler: control(s.settings, s.counts), ReadHeaderTimeout: time.Minute}))
	for protocol, keys := range s.keys {
		err = errors.Join(err, s.listen(protocol, s.lines(func() dialect {
			if protocol == "redis" {
				return &redis{keys: keys, settings: s.settings.texts()}
			}
			return &memcached{keys: keys, counts: s.counts}
		})))
	}
	return errors.Join(err, s.listenWeb())
}

func (s *server) listenWeb() error {
	if !s.settings.TLS && !s.settings.HTTP2 {
		return s.listen("http", s.lines(func() dialect { return &plain{site: s.site} }))
	}
	var cert service.Certificate
	if s.settings.TLS {
		var err error
		if cert, err = service.NewCertificate(s.host); err != nil {
			return err
		}
		s.greeting.CA = cert.CA
	}
	w := &web{site: s.site, settings: s.settings, counts: s.counts, delay: s.delay, faults: newFaults(s.settings, s.seed, 0)}
	server, err := w.server(cert)
	if err != nil {
		return err
	}
	return s.listen("http", s.http(server))
}

// listen serves connections on a free port.
func (s *server) listen(protocol string, serve func(net.Listener)) error {
	l, err := net.Listen("tcp4", net.JoinHostPort(s.host, "0"))
	if err != nil {
		return fmt.Errorf("listen for %s: %w", protocol, err)
	}
	s.greeting.Listening[protocol] = l.Addr().String()
	if s.add(l) {
		s.done.Go(func() { serve(l) })
	}
	return nil
}

func (s *server) http(h *http.Server) func(net.Listener) {
	return func(l net.Listener) {
		if !s.add(h) {
			return
		}
		if h.TLSConfig != nil {
			_ = h.ServeTLS(l, "", "") // until the listener is closed
			return
		}
		_ = h.Serve(l)
	}
}

// lines serves each connection by a dialect.
func (s *server) lines(talk func() dialect) func(net.Listener) {
	return func(l net.Listener) {
		for {
			c, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				// Out of file descriptors: the other connections continue, and this error
				// may pass.
				<-time.After(10 * time.Millisecond)
				continue
			}
			conn := c.(*net.TCPConn)
			out, err := newOutbox(conn)
			if err != nil || !s.add(out) {
				_ = conn.Close()
				continue
			}
			number := uint64(s.counts.connections.Add(1))
			line := &connection{conn, talk(), newFaults(s.settings, s.seed, number), s.counts, s.delay, out}
			s.done.Go(func() {
				line.serve()
				s.remove(out)
			})
		}
	}
}

// add registers a closer; it is false after close.
func (s *server) add(c io.Closer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = c.Close()
		return false
	}
	s.open[c] = true
	return true
}

func (s *server) remove(c io.Closer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, c)
}

// close closes everything. Pending responses are dropped.
func (s *server) close() {
	s.mu.Lock()
	s.closed = true
	for c := range s.open {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.done.Wait()
	if s.delay != nil {
		<-s.delay.pacer.gone
	}
	runtime.GOMAXPROCS(s.before) // 0 does not change it
}
