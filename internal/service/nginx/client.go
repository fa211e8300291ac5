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

// client sends requests by the server's version of HTTP.
type client struct {
	tls, http2 bool
	http       *http.Client
	scheme     string
}

func (c client) observed() map[string]string {
	return map[string]string{"tls": strconv.FormatBool(c.tls), "http2": strconv.FormatBool(c.http2)}
}

// find tries HTTP/2 first, then HTTP/1.1.
func find(ctx context.Context, m platform.Machine, e load.Endpoint) (client, error) {
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

func try(ctx context.Context, m platform.Machine, e load.Endpoint, http2 bool) (client, error) {
	t := &http.Transport{
		Protocols: new(http.Protocols), DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return service.Dial(ctx, m, e) },
	}
	c := client{tls: e.CA != nil, http2: http2, scheme: "http", http: &http.Client{
		Transport: t, Timeout: 10 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	t.Protocols.SetHTTP1(!http2)
	t.Protocols.SetHTTP2(http2 && c.tls)
	t.Protocols.SetUnencryptedHTTP2(http2 && !c.tls)
	if c.tls {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(e.CA) {
			return c, errors.New("the certificate authority holds no certificate in PEM")
		}
		c.scheme, t.TLSClientConfig = "https", &tls.Config{RootCAs: pool}
	}
	answer, _, err := c.get(ctx, e, http.MethodHead, "/")
	if err != nil {
		return c, err
	}
	if got := answer.ProtoMajor == 2; got != http2 {
		return c, fmt.Errorf("it speaks %s", answer.Proto)
	}
	return c, nil
}

func (c client) get(ctx context.Context, e load.Endpoint, method, path string) (*http.Response, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.scheme+"://"+host(e)+path, nil)
	if err != nil {
		return nil, nil, err
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 64<<20))
	return answer, body, err
}

// host is the name in requests; behind a socket, any name works.
func host(e load.Endpoint) string {
	if e.Network == "unix" {
		return "localhost"
	}
	return e.Address
}
