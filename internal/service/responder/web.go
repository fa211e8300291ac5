package responder

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"plimsoll/internal/service"
)

// web serves HTTP through net/http: TLS and HTTP/2.
type web struct {
	site     *content
	settings Settings
	counts   *counts
	delay    *delay // nil for immediate responses

	mu     sync.Mutex // guards faults
	faults *faults
}

func (w *web) server(cert service.Certificate) (*http.Server, error) {
	s := &http.Server{
		Handler: w, Protocols: new(http.Protocols), ReadHeaderTimeout: time.Minute,
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				w.counts.connections.Add(1)
			}
		},
	}
	s.Protocols.SetHTTP1(true)
	if w.settings.HTTP2 {
		s.Protocols.SetHTTP2(w.settings.TLS)
		s.Protocols.SetUnencryptedHTTP2(!w.settings.TLS)
	}
	if w.settings.TLS {
		pair, err := tls.X509KeyPair(cert.Cert, cert.Key)
		if err != nil {
			return nil, err
		}
		s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair}}
	}
	return s, nil
}

// ServeHTTP applies the fate of each request at its time.
func (w *web) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.counts.requests.Add(1)
	if w.delay != nil {
		due, refused := w.delay.queue.admit(w.delay.pacer.now())
		if refused {
			w.counts.faults.Add(1)
			http.Error(rw, onPurpose, http.StatusServiceUnavailable)
			return
		}
		if w.delay.pacer.wait(r.Context(), due) != nil {
			return
		}
	}
	w.mu.Lock()
	what := w.faults.next()
	w.mu.Unlock()
	if what != served {
		w.counts.faults.Add(1)
	}
	switch what {
	case failed:
		http.Error(rw, onPurpose, http.StatusInternalServerError)
	case reset, garbled, halfClosed:
		w.breakOff(rw, what)
	default:
		w.site.ServeHTTP(rw, r)
	}
}

// breakOff breaks the connection. An HTTP/2 stream can only be reset.
func (w *web) breakOff(rw http.ResponseWriter, what disposition) {
	hijacker, ok := rw.(http.Hijacker)
	if !ok {
		panic(http.ErrAbortHandler) // the method that net/http provides
	}
	conn, _, err := hijacker.Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer conn.Close()
	switch what {
	case garbled:
		_, _ = conn.Write([]byte(garbage))
	case halfClosed:
		if c, ok := conn.(interface{ CloseWrite() error }); ok {
			_ = c.CloseWrite()
		}
		_, _ = io.Copy(io.Discard, conn) // until the client closes its side
	case reset:
		under := conn
		if t, ok := conn.(*tls.Conn); ok {
			under = t.NetConn()
		}
		if c, ok := under.(*net.TCPConn); ok {
			_ = c.SetLinger(0)
			_ = c.Close()
		}
	}
}
