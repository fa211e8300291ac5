// Package disturbance injects faults into calls between a client and a vCenter.
package disturbance

import (
	"bytes"
	"io"
	"net/http"
	"path"
	"regexp"
	"strings"
	"time"
)

// Kind is a kind of fault.
type Kind string

// The kinds of faults.
const (
	None      Kind = ""
	Refuse    Kind = "refuse"   // the connection is closed before the vCenter receives the call
	LoseReply Kind = "lose"     // the connection is closed after the vCenter has carried out the call
	Truncate  Kind = "truncate" // half of the reply is sent
	Hang      Kind = "hang"     // the call gets no response
	Busy      Kind = "busy"     // the response is HTTP status 503
	Slow      Kind = "slow"     // the reply is late
)

// Kinds lists them.
func Kinds() []Kind { return []Kind{Refuse, LoseReply, Truncate, Hang, Busy, Slow} }

// Disturbance is the fault of a call.
type Disturbance struct {
	Kind  Kind
	Delay time.Duration // of Slow
}

// Handler passes calls on to next, with the faults that choose returns. Hanging calls end with
// the channel.
func Handler(next http.Handler, choose func(method string) Disturbance, end <-chan struct{}) http.Handler {
	return &handler{next, choose, end}
}

type handler struct {
	next   http.Handler
	choose func(method string) Disturbance
	end    <-chan struct{}
}

// named matches the method of a SOAP call: the first element of its body.
var named = regexp.MustCompile(`<(?:\w+:)?Body[^>]*>\s*<(?:\w+:)?(\w+)`)

// methodOf is the method of a call. For VI/JSON it is the last part of the path.
func methodOf(r *http.Request, body []byte) string {
	if m := named.FindSubmatch(body); m != nil {
		return string(m[1])
	}
	if strings.HasPrefix(r.URL.Path, "/sdk/vim25/") {
		return path.Base(r.URL.Path)
	}
	return ""
}

// ServeHTTP passes a call on, or applies a fault.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	is := h.choose(methodOf(r, body))
	switch is.Kind {
	case Hang:
		select {
		case <-h.end:
		case <-r.Context().Done():
		}
		panic(http.ErrAbortHandler)
	case Refuse:
		panic(http.ErrAbortHandler)
	case Busy:
		w.WriteHeader(http.StatusServiceUnavailable)
	case Slow:
		h.late(w, r, is.Delay)
	case LoseReply, Truncate:
		h.cut(w, r, is.Kind)
	default:
		h.next.ServeHTTP(w, r)
	}
}

// late responds after a delay.
func (h *handler) late(w http.ResponseWriter, r *http.Request, delay time.Duration) {
	reply := h.reply(r)
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		reply.send(w, reply.body.Len())
	case <-h.end:
		panic(http.ErrAbortHandler)
	case <-r.Context().Done():
	}
}

// cut carries out the call, and closes the connection before the end of the reply.
func (h *handler) cut(w http.ResponseWriter, r *http.Request, kind Kind) {
	reply := h.reply(r)
	if kind == Truncate {
		reply.send(w, reply.body.Len()/2)
		_ = http.NewResponseController(w).Flush()
	}
	panic(http.ErrAbortHandler)
}

// reply is the reply of the vCenter.
func (h *handler) reply(r *http.Request) *recorder {
	made := &recorder{header: http.Header{}, status: http.StatusOK}
	h.next.ServeHTTP(made, r)
	return made
}

// recorder stores a reply.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header is the header of the reply.
func (r *recorder) Header() http.Header { return r.header }

// WriteHeader sets the status.
func (r *recorder) WriteHeader(status int) { r.status = status }

// Write appends to the body.
func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }

// send sends the first bytes of the reply.
func (r *recorder) send(w http.ResponseWriter, n int) {
	for name, values := range r.header {
		if name != "Content-Length" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(r.status)
	_, _ = w.Write(r.body.Bytes()[:n])
}
