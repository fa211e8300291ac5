package web

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/workload"
)

// mostPages is how much of a manifest is read.
const mostPages = 16 << 20

// server is where a load goes.
type server struct {
	load.Endpoint
	tls *tls.Config // nil: none
	env workload.Env
}

// reach connects to it.
func (s server) reach(ctx context.Context) (net.Conn, error) { return s.env.Dial(ctx, s.Endpoint) }

// host is the name of the server for the Host field.
func (s server) host() string {
	if s.Network == "unix" {
		return "localhost"
	}
	return s.Address
}

// find is where the server listens, and its authority.
func (w *web) find(env workload.Env) (server, error) {
	if env.Target == nil {
		return server{}, errors.New("the workload web requires a server: add a service such as nginx or responder to the study")
	}
	var err error
	if w.extra, err = revealed(w.given); err != nil {
		return server{}, err
	}
	at, err := env.Target(protocol)
	s := server{Endpoint: at, env: env}
	switch {
	case err != nil:
		return s, fmt.Errorf("find a web server: %w", err)
	case len(at.More) > 0 && (w.Version == "2" || w.TLS != "off" && at.CA != nil || w.TLS == "on"):
		return s, fmt.Errorf("the service has %d servers, and several are supported over HTTP/1.1 without TLS only: set instances to 1, or version to 1.1 and tls to off", 1+len(at.More))
	case w.TLS == "off" && at.CA != nil:
		return s, fmt.Errorf("the web server at %s speaks TLS: set web.tls to auto, or turn TLS off in the service", at.Address)
	case w.TLS == "off" || w.TLS == "auto" && at.CA == nil:
		return s, nil
	}
	s.tls = &tls.Config{ServerName: s.host(), MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	if name, _, err := net.SplitHostPort(s.tls.ServerName); err == nil {
		s.tls.ServerName = name
	}
	if w.Version == "2" {
		s.tls.NextProtos = []string{"h2"}
	}
	if at.CA != nil {
		s.tls.RootCAs = x509.NewCertPool()
		if !s.tls.RootCAs.AppendCertsFromPEM(at.CA) {
			return s, fmt.Errorf("the certificate authority of the web server at %s is not a certificate in PEM", at.Address)
		}
	}
	return s, nil
}

// askPages is what a load asks for: what the study names, or what the server says
// that it serves.
func (w *web) askPages(ctx context.Context, s server) ([]page, error) {
	if len(w.pages) > 0 {
		return w.pages, nil
	}
	text, err := w.get(ctx, s, manifest)
	if err != nil {
		return nil, fmt.Errorf("query the pages of the web server at %s: %w; specify them with web.pages", s.Address, err)
	}
	pages, err := parseManifest(text)
	if err != nil {
		return nil, fmt.Errorf("list of pages from the web server at %s (%s): %w", s.Address, manifest, err)
	}
	return pages, nil
}

// get asks for one file, and wants it.
func (w *web) get(ctx context.Context, s server, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(w.Timeout))
	defer cancel()
	c := w.connector(s)
	conn, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.scheme+"://"+c.authority+path, nil)
	if err != nil {
		return nil, err
	}
	answer, err := conn.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", path, answer.Status)
	}
	return io.ReadAll(io.LimitReader(answer.Body, mostPages))
}

// try does one operation as the load will, so that what it cannot carry out shows
// before it begins.
func (w *web) try(ctx context.Context, s server, pages []page) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(w.Timeout))
	defer cancel()
	first := w.newTour([]page{pages[0][:1]}, s.host())
	first.reuse = 1
	ask := w.tryDialogue
	if w.Version == "2" {
		ask = w.tryStreams
	}
	err := ask(ctx, s, first)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %s", w.Timeout)
	}
	if err != nil {
		return fmt.Errorf("request to the web server at %s for %s over HTTP/%s: %w", s.Address, pages[0][0], w.Version, err)
	}
	return nil
}

func (w *web) tryStreams(ctx context.Context, s server, t *tour) error {
	all, err := w.newStreams(t, w.connector(s), newLedger(1))
	if err != nil {
		return err
	}
	defer all.close()
	user, err := all.caller(ctx, 0, 0)
	if err != nil {
		return err
	}
	defer user.Close()
	_, _, err = user.Call(ctx)
	return err
}

func (w *web) tryDialogue(ctx context.Context, s server, t *tour) error {
	plain, err := s.reach(ctx)
	if err != nil {
		return err
	}
	defer plain.Close()
	defer context.AfterFunc(ctx, func() { plain.Close() })()
	conn := plain
	if s.tls != nil {
		conn = tls.Client(plain, s.tls)
	}
	d := newDialogue(t, 1, rand.PCG{}, &sheet{})
	request, _ := d.Request(nil, 0)
	if _, err := conn.Write(request); err != nil {
		return because(ctx, err)
	}
	buffer, have := make([]byte, 2*mostHead), 0
	for {
		n, err := conn.Read(buffer[have:])
		if errors.Is(err, io.EOF) {
			err = errors.New("it closes the connection before the response is complete")
		}
		if n == 0 && err != nil {
			return because(ctx, err)
		}
		have += n
		for have > 0 {
			a, used, err := d.Answer(buffer[:have])
			switch {
			case err != nil:
				return err
			case a.Slot != load.NoSlot && a.Failed:
				return unexpected(d.status)
			case a.Slot != load.NoSlot:
				return nil
			}
			have = copy(buffer, buffer[used:have])
			if used == 0 {
				break
			}
		}
	}
}

func unexpected(status int) error {
	return fmt.Errorf("it responds with status %d, which is not in web.expect", status)
}

// because is the error of a connection that was closed when a context ended.
func because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
