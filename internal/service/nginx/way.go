package nginx

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
)

// way is how a server was found to speak.
type way struct {
	tls, http2 bool
	client     *http.Client
	scheme     string
}

func (w way) observed() map[string]string {
	return map[string]string{"tls": strconv.FormatBool(w.tls), "http2": strconv.FormatBool(w.http2)}
}

// find tries HTTP/2 first, then HTTP/1.1.
func find(ctx context.Context, m platform.Machine, e load.Endpoint) (way, error) {
	two, err2 := try(ctx, m, e, true)
	if err2 == nil {
		return two, nil
	}
	one, err := try(ctx, m, e, false)
	if err != nil {
		return one, fmt.Errorf("the web server at %s: %w", e.Address, err)
	}
	return one, nil
}

func try(ctx context.Context, m platform.Machine, e load.Endpoint, http2 bool) (way, error) {
	t := &http.Transport{
		Protocols: new(http.Protocols), DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return service.Dial(ctx, m, e) },
	}
	w := way{tls: e.CA != nil, http2: http2, scheme: "http", client: &http.Client{
		Transport: t, Timeout: 10 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	t.Protocols.SetHTTP1(!http2)
	t.Protocols.SetHTTP2(http2 && w.tls)
	t.Protocols.SetUnencryptedHTTP2(http2 && !w.tls)
	if w.tls {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(e.CA) {
			return w, errors.New("the certificate authority holds no certificate in PEM")
		}
		w.scheme, t.TLSClientConfig = "https", &tls.Config{RootCAs: pool}
	}
	answer, _, err := w.get(ctx, e, http.MethodHead, "/")
	if err != nil {
		return w, err
	}
	if got := answer.ProtoMajor == 2; got != http2 {
		return w, fmt.Errorf("it speaks %s", answer.Proto)
	}
	return w, nil
}

func (w way) get(ctx context.Context, e load.Endpoint, method, path string) (*http.Response, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, w.scheme+"://"+host(e)+path, nil)
	if err != nil {
		return nil, nil, err
	}
	answer, err := w.client.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 64<<20))
	return answer, body, err
}

// host is the name in requests; behind a socket, any would do.
func host(e load.Endpoint) string {
	if e.Network == "unix" {
		return "localhost"
	}
	return e.Address
}
