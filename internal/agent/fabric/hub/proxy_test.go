package hub_test

import (
	"net"
	"sync"
	"testing"
)

// proxy is a TCP proxy of the hub that can close connections or silently drop their data.
type proxy struct {
	listener net.Listener
	target   string

	mu    sync.Mutex
	deaf  bool
	shut  bool
	conns []net.Conn
}

func newProxy(t testing.TB, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, target: target}
	go p.accept()
	t.Cleanup(func() { _ = l.Close(); p.cut() })
	return p
}

func (p *proxy) url() string { return "nats://" + p.listener.Addr().String() }

func (p *proxy) accept() {
	for {
		in, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		shut := p.shut
		p.mu.Unlock()
		out, err := net.Dial("tcp", p.target)
		if err != nil || shut {
			_ = in.Close()
			if out != nil {
				_ = out.Close()
			}
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, in, out)
		p.mu.Unlock()
		go p.pass(in, out)
		go p.pass(out, in)
	}
}

func (p *proxy) pass(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		p.mu.Lock()
		deaf := p.deaf
		p.mu.Unlock()
		if deaf {
			continue
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}

// swallow drops all data from now on, without closing connections.
func (p *proxy) swallow() { p.mu.Lock(); p.deaf = true; p.mu.Unlock() }

// cut closes all connections and lets no new one through.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shut = true
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}

// mend lets new connections through. Those that were deaf are closed.
func (p *proxy) mend() {
	p.cut()
	p.mu.Lock()
	p.deaf, p.shut = false, false
	p.mu.Unlock()
}
