package web

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"plimsoll/internal/load"
)

// manifest is the path below which a web server of a study lists its pages: each
// line is one page, all files that it takes, as PATH:BYTES parted by blanks.
const manifest = "/pages.txt"

// mostPages is how much of a manifest is read.
const mostPages = 16 << 20

// page is the paths of all files of a page, its text first.
type page []string

// parsePages reads a manifest.
func parsePages(text []byte) ([]page, error) {
	var pages []page
	for n, line := range bytes.Split(text, []byte("\n")) {
		var p page
		for file := range strings.FieldsSeq(string(line)) {
			path, size, found := strings.Cut(file, ":")
			if _, err := number([]byte(size), 10); !found || err != nil || checkPath(path) != nil {
				return nil, fmt.Errorf("line %d: %.60q is not PATH:BYTES", n+1, file)
			}
			p = append(p, path)
		}
		if len(p) > 0 {
			pages = append(pages, p)
		}
	}
	if len(pages) == 0 {
		return nil, fmt.Errorf("it lists no page")
	}
	return pages, nil
}

// checkPath refuses what would break a request.
func checkPath(path string) error {
	if !strings.HasPrefix(path, "/") || strings.ContainsFunc(path, func(c rune) bool { return c <= ' ' || c >= 0x7f }) {
		return fmt.Errorf("%q is not a path of a web server, like /index.html", path)
	}
	return nil
}

// askPages asks a server for its manifest.
func askPages(ctx context.Context, at load.Endpoint) ([]page, error) {
	text, err := get(ctx, at, manifest)
	if err != nil {
		return nil, fmt.Errorf("ask the web server at %s what it serves: %w; name its pages with web.pages", at.Address, err)
	}
	pages, err := parsePages(text)
	if err != nil {
		return nil, fmt.Errorf("what the web server at %s says that it serves (%s): %w", at.Address, manifest, err)
	}
	return pages, nil
}

// get asks for one file, and wants it.
func get(ctx context.Context, at load.Endpoint, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, at.Network, at.Address)
	}
	client := &http.Client{
		Transport:     &http.Transport{DialContext: dial, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host(at)+path, nil)
	if err != nil {
		return nil, err
	}
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", path, answer.Status)
	}
	return io.ReadAll(io.LimitReader(answer.Body, mostPages))
}

// host is the name of the server for the Host field.
func host(at load.Endpoint) string {
	if at.Network == "unix" {
		return "localhost"
	}
	return at.Address
}

// visits are what operations ask for: whole pages, or each of their objects.
func visits(pages []page, whole, closing bool, host string) []visit {
	var out []visit
	for _, p := range pages {
		parts := []page{p}
		if !whole {
			parts = nil
			for _, path := range p {
				parts = append(parts, page{path})
			}
		}
		for _, part := range parts {
			v := visit{answers: len(part)}
			for i, path := range part {
				v.requests = append(v.requests, "GET "+path+" HTTP/1.1\r\nHost: "+host+"\r\nUser-Agent: plimsoll\r\n"...)
				if closing && i == len(part)-1 {
					v.requests = append(v.requests, "Connection: close\r\n"...)
				}
				v.requests = append(v.requests, "\r\n"...)
			}
			out = append(out, v)
		}
	}
	return out
}
