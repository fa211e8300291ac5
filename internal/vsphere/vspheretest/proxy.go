package vspheretest

import (
	"crypto/tls"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/soap"

	"plimsoll/internal/live"
	"plimsoll/internal/vsphere/disturbance"
)

// Proxy is a proxy between a client and a simulator.
type Proxy struct {
	server *httptest.Server
	to     string
	client *http.Client
	ended  chan struct{}

	mu      sync.Mutex
	trouble func(method string) disturbance.Kind
	calls   map[string]int
	called  chan struct{} // closed at the next call
}

// Proxy starts a proxy in front of the simulator.
func (v *VCenter) Proxy(t testing.TB) *Proxy {
	p := &Proxy{to: v.server.URL.String(), calls: map[string]int{}, called: make(chan struct{}), ended: make(chan struct{}), client: &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableCompression: true, MaxIdleConnsPerHost: 8,
	}}}
	p.server = httptest.NewTLSServer(disturbance.Handler(http.HandlerFunc(p.pass), p.note, p.ended))
	t.Cleanup(func() {
		close(p.ended)
		p.server.CloseClientConnections()
		p.server.Close()
		p.client.CloseIdleConnections()
	})
	return p
}

// Address is the address of the cluster through the proxy.
func (p *Proxy) Address(t testing.TB) live.Address {
	return live.Address{Scheme: "vsphere", User: "operator", Host: p.server.Listener.Addr().String(), Parameters: map[string]string{
		"password": secret(t), "thumbprint": soap.ThumbprintSHA256(p.server.Certificate()),
	}}
}

// Authority is a file with the certificate authority of the proxy.
func (p *Proxy) Authority(t testing.TB) string {
	file := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Disturb sets the faults of calls by method.
func (p *Proxy) Disturb(trouble func(method string) disturbance.Kind) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trouble = trouble
}

// Calls is the number of calls of a method.
func (p *Proxy) Calls(method string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls[method]
}

// Await waits for the n-th call of a method.
func (p *Proxy) Await(t testing.TB, method string, n int) {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		p.mu.Lock()
		calls, called := p.calls[method], p.called
		p.mu.Unlock()
		if calls >= n {
			return
		}
		select {
		case <-called:
		case <-limit:
			t.Fatalf("%d calls of %s, want %d", calls, method, n)
		}
	}
}

// Cut closes the open connections.
func (p *Proxy) Cut() { p.server.CloseClientConnections() }

// note counts a call, and chooses what happens to it.
func (p *Proxy) note(method string) disturbance.Disturbance {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls[method]++
	close(p.called)
	p.called = make(chan struct{})
	if p.trouble == nil {
		return disturbance.Disturbance{}
	}
	return disturbance.Disturbance{Kind: p.trouble(method)}
}

// pass passes a call on to the simulator.
func (p *Proxy) pass(w http.ResponseWriter, r *http.Request) {
	forward, err := http.NewRequestWithContext(r.Context(), r.Method, p.to, r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	forward.Header = r.Header.Clone()
	answer, err := p.client.Do(forward)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer answer.Body.Close()
	reply, err := io.ReadAll(answer.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	for name, values := range answer.Header {
		if name != "Content-Length" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(answer.StatusCode)
	_, _ = w.Write(reply)
}
