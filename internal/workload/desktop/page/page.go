// Package page is the web server of workload desktop: pages that draw, and say in their title what they have drawn.
package page

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"
)

const (
	canvases = 60
	shapes   = 200 // of a canvas
)

// Server serves pages to browsers on this machine.
type Server struct {
	seed   uint64
	at     net.Listener
	server *http.Server
	ended  chan error
}

// Serve starts a server on a free port of the loopback address.
func Serve(ctx context.Context, seed uint64) (*Server, error) {
	at, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the page server: %w", err)
	}
	s := &Server{seed: seed, at: at, ended: make(chan error, 1)}
	const patience = 10 * time.Second
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: patience}
	go func() { s.ended <- s.server.Serve(at) }()
	return s, nil
}

// Close ends the server.
func (s *Server) Close() error {
	err := s.server.Close()
	if ended := <-s.ended; !errors.Is(ended, http.ErrServerClosed) && !errors.Is(ended, net.ErrClosed) {
		return ended
	}
	return err
}

// Address is the address of a page.
func (s *Server) Address(number int) string { return fmt.Sprintf("http://%s/%d", s.at.Addr(), number) }

// Answers returns an error if the server does not answer any more. Another server on its port is none.
func (s *Server) Answers(ctx context.Context) error {
	const patience = 2 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, s.Address(0), http.NoBody)
	if err != nil {
		return fmt.Errorf("ask the page server: %w", err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("the page server is gone: %w", err)
	}
	if got := answer.Header.Get(identity); got != s.identity() {
		return errors.Join(fmt.Errorf("the page server is gone: another server answers at %s", s.at.Addr()), answer.Body.Close())
	}
	return answer.Body.Close()
}

// identity is the header by which a server is told from another one on the same port.
const identity = "Plimsoll-Page-Server"

func (s *Server) identity() string { return strconv.FormatUint(s.seed, 10) }

// ServeHTTP answers with a page.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	number, err := strconv.Atoi(r.URL.Path[min(1, len(r.URL.Path)):])
	if err != nil || number < 0 {
		http.NotFound(w, r)
		return
	}
	w.Header().Set(identity, s.identity())
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, source, uint32(s.start(number)), canvases, shapes, number)
}

// start is the state from which a page draws.
func (s *Server) start(number int) uint32 { return uint32(s.seed) ^ uint32(number)*2654435761 }

// Title is the title of a page once its script has drawn all.
func (s *Server) Title(number int) string {
	state := s.start(number)
	for range canvases * shapes * draws {
		state = state*multiplier + increment
	}
	return fmt.Sprintf("desktop %d %d", number, state)
}

// The numbers of a linear congruential generator (Knuth, The Art of Computer Programming, volume 2, 3.3.4).
const (
	multiplier = 1664525
	increment  = 1013904223
	draws      = 5 // of a shape
)

// source is a page. Math.imul and >>> 0 compute as uint32 does.
const source = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>loading</title></head>
<body><h1>Overview</h1>
<script>
let state = %d;
const draw = n => { state = (Math.imul(state, 1664525) + 1013904223) >>> 0; return (state >>> 8) %% n; };
for (let i = 0; i < %d; i++) {
	const c = document.createElement("canvas");
	c.width = 120; c.height = 80;
	document.body.append(c);
	const g = c.getContext("2d");
	for (let k = 0; k < %d; k++) {
		g.fillStyle = "hsl(" + draw(360) + ",70%%,60%%)";
		g.beginPath();
		g.arc(draw(120), draw(80), 1 + draw(14), 0, 1 + draw(5));
		g.fill();
	}
}
document.title = "desktop %d " + state;
</script></body></html>
`
