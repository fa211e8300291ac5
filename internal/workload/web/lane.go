package web

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// connector makes connections that net/http speaks on.
type connector struct {
	transport         *http.Transport
	scheme, authority string
}

// connector makes one for a server and the version of HTTP that a study wants.
func (w *web) connector(s server) connector {
	c := connector{scheme: "http", authority: s.host()}
	if _, _, err := net.SplitHostPort(c.authority); err != nil {
		c.authority = net.JoinHostPort(c.authority, "80")
	}
	c.transport = &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return s.reach(ctx)
		},
		TLSClientConfig: s.tls, DisableCompression: true, Protocols: new(http.Protocols),
	}
	if s.tls != nil {
		c.scheme = "https"
	}
	switch {
	case w.Version != "2":
		c.transport.Protocols.SetHTTP1(true)
	case s.tls != nil:
		c.transport.Protocols.SetHTTP2(true)
	default:
		c.transport.Protocols.SetUnencryptedHTTP2(true)
	}
	return c
}

func (c connector) connect(ctx context.Context) (*http.ClientConn, error) {
	return c.transport.NewClientConn(ctx, c.scheme, c.authority)
}

// lane is the place of one connection, which is made again as often as needed.
type lane struct {
	connector
	users int // who has a place here; guarded by streams
	reuse int // requests that a connection gets at most; 0 is no limit
	// making holds a token of who makes a connection: to wait for that can be
	// cancelled, and keeps nobody from leaving an old one.
	making chan struct{}

	mu  sync.Mutex // guards what is below, and the counts of links
	now *link
	old map[*link]bool // links that get nothing new
}

// link is one connection.
type link struct {
	conn  *http.ClientConn
	asked int // requests
	under int // users of it
}

// take finds a connection for so many requests, which leave must give back.
func (l *lane) take(ctx context.Context, requests int) (*link, error) {
	if k := l.usable(requests); k != nil {
		return k, nil
	}
	select {
	case l.making <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-l.making }()
	if k := l.usable(requests); k != nil {
		return k, nil
	}
	conn, err := l.connect(ctx)
	if err != nil {
		return nil, because(ctx, err)
	}
	k := &link{conn: conn, asked: requests, under: 1}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = k
	return k, nil
}

// usable takes the connection that there is, unless it has done its part.
func (l *lane) usable(requests int) *link {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.now
	if k == nil {
		return nil
	}
	if k.conn.Err() != nil || l.reuse > 0 && k.asked > 0 && k.asked+requests > l.reuse {
		l.putAway(k)
		return nil
	}
	k.asked += requests
	k.under++
	return k
}

// leave gives a connection back.
func (l *lane) leave(k *link) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reuse == 1 && l.now == k {
		l.putAway(k)
	}
	if k.under--; k.under == 0 && l.old[k] {
		delete(l.old, k)
		_ = k.conn.Close() // nothing is on it
	}
}

// retire has a connection get nothing new.
func (l *lane) retire(k *link) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now == k {
		l.putAway(k)
	}
}

func (l *lane) putAway(k *link) {
	l.now = nil
	if k.under == 0 {
		_ = k.conn.Close()
		return
	}
	if l.old == nil {
		l.old = map[*link]bool{}
	}
	l.old[k] = true
}

func (l *lane) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now != nil {
		_ = l.now.conn.Close()
	}
	for k := range l.old {
		_ = k.conn.Close()
	}
	l.now, l.old = nil, nil
}
