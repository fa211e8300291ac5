package web

import (
	"context"
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

// find is where the server listens.
func (w *web) find(env workload.Env) (load.Endpoint, error) {
	if env.Target == nil {
		return load.Endpoint{}, errors.New("the workload web needs a server: name a service such as nginx or responder in the study")
	}
	at, err := env.Target(protocol)
	switch {
	case err != nil:
		return at, fmt.Errorf("find a web server: %w", err)
	case at.CA != nil:
		return at, errors.New("the workload web speaks no TLS yet: set tls: false in the service")
	}
	return at, nil
}

// host is the name of the server for the Host field.
func host(at load.Endpoint) string {
	if at.Network == "unix" {
		return "localhost"
	}
	return at.Address
}

// askPages is what a load asks for: what the study names, or what the server says
// that it serves.
func (w *web) askPages(ctx context.Context, at load.Endpoint) ([]page, error) {
	if len(w.pages) > 0 {
		return w.pages, nil
	}
	text, err := w.get(ctx, at, manifest)
	if err != nil {
		return nil, fmt.Errorf("ask the web server at %s what it serves: %w; name its pages with web.pages", at.Address, err)
	}
	pages, err := parseManifest(text)
	if err != nil {
		return nil, fmt.Errorf("what the web server at %s says that it serves (%s): %w", at.Address, manifest, err)
	}
	return pages, nil
}

// get asks for one file, and wants it.
func (w *web) get(ctx context.Context, at load.Endpoint, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(w.Timeout))
	defer cancel()
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, at.Network, at.Address)
	}
	transport := &http.Transport{DialContext: dial, DisableKeepAlives: true}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host(at)+path, nil)
	if err != nil {
		return nil, err
	}
	answer, err := transport.RoundTrip(request)
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
func (w *web) try(ctx context.Context, at load.Endpoint, pages []page) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(w.Timeout))
	defer cancel()
	path := pages[0][0]
	if err := w.tryDialogue(ctx, at, pages[:1]); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("no answer within %s", w.Timeout)
		}
		return fmt.Errorf("ask the web server at %s for %s: %w", at.Address, path, err)
	}
	return nil
}

// tryDialogue asks for the first object alone.
func (w *web) tryDialogue(ctx context.Context, at load.Endpoint, pages []page) error {
	conn, err := new(net.Dialer).DialContext(ctx, at.Network, at.Address)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	t := w.newTour([]page{pages[0][:1]}, host(at))
	t.reuse = 1
	d := newDialogue(t, 1, rand.PCG{}, &sheet{})
	request, _ := d.Request(nil, 0)
	if _, err := conn.Write(request); err != nil {
		return because(ctx, err)
	}
	buffer, have := make([]byte, 2*mostHead), 0
	for {
		n, err := conn.Read(buffer[have:])
		if n == 0 && err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("it closes the connection without a whole answer")
			}
			return because(ctx, err)
		}
		for have += n; have > 0; {
			a, used, err := d.Answer(buffer[:have])
			switch {
			case err != nil:
				return fmt.Errorf("it does not speak HTTP/1.1: %w", err)
			case a.Slot != load.NoSlot && a.Failed:
				return fmt.Errorf("it answers with status %d, which web.expect does not name", d.status)
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

// because is the error of a connection that was closed when a context ended.
func because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
