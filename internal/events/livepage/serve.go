package livepage

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"time"

	"plimsoll/internal/events"
)

const (
	beat        = time.Second      // between two looks at the events
	comment     = 15 * time.Second // without an event, after which a comment keeps the connection
	patience    = 5 * time.Second  // for a viewer to take an event
	mostViewers = 100              // of a page; more would be an attack
)

// ServeHTTP serves the page, its stream and its script.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	name, below := strings.CutPrefix(r.URL.Path, p.options.Prefix)
	if !below {
		http.NotFound(w, r)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	switch {
	case name == "" && r.URL.Query().Get("format") == "json":
		p.writeState(w)
	case name == "":
		p.write(w, r)
	case name == "stream":
		p.stream(w, r)
	case name == "live.js":
		h.Set("Content-Type", "text/javascript; charset=utf-8")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(script))
	default:
		http.NotFound(w, r)
	}
}

// writeState writes the state of the run for programs.
func (p *Page) writeState(w http.ResponseWriter) {
	f := p.refresh()
	p.mu.Lock()
	text, err := json.Marshal(struct {
		Status string `json:"status"`
		events.State
	}{f.status.Word, p.state})
	p.mu.Unlock()
	if err != nil {
		http.Error(w, "the state cannot be shown: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(text, '\n')) // a viewer that is gone
}

// viewer is a browser that takes the stream.
type viewer struct {
	w    http.ResponseWriter
	to   *http.ResponseController
	has  map[string]string // parts that were sent
	last string            // frame
	sent time.Time
}

// stream sends the parts that change, by server-sent events (WHATWG HTML, section 9.2), until the run has ended. A viewer that takes
// an event too slowly is dropped; it comes again, and gets the page as it is then.
func (p *Page) stream(w http.ResponseWriter, r *http.Request) {
	defer p.viewers.Add(-1)
	if p.viewers.Add(1) > mostViewers {
		w.Header().Set("Retry-After", "30")
		http.Error(w, "too many viewers of this run", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	if r.Method == http.MethodHead {
		return
	}
	v := &viewer{w: w, to: http.NewResponseController(w), last: r.Header.Get("Last-Event-ID")}
	if v.last == "" {
		v.last = r.URL.Query().Get("after")
	}
	defer func() { _ = v.to.SetWriteDeadline(time.Time{}) }()
	clock := time.NewTicker(beat)
	defer clock.Stop()
	for err := v.send("retry: 1000\n\n"); err == nil; {
		f := p.refresh()
		if err = v.show(f); err != nil || !f.status.live {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-clock.C:
		}
	}
}

// show sends the parts of a frame that the viewer does not have.
func (v *viewer) show(f *frame) error {
	if v.has == nil && v.last == f.id { // it has all of them
		v.has = f.parts
	}
	changed := map[string]string{}
	for name, text := range f.parts {
		if had, ok := v.has[name]; !ok || had != text {
			changed[name] = text
		}
	}
	v.has = f.parts
	switch {
	case !f.status.live:
		return v.send("event: end\ndata: {}\n\n")
	case len(changed) > 0:
		var b strings.Builder
		b.WriteString("event: parts\nid: " + strings.Map(plain, f.id) + "\ndata: ")
		text := json.NewEncoder(&b)
		text.SetEscapeHTML(false) // it is data of a stream, in which markup means nothing
		if err := text.Encode(changed); err != nil {
			return err
		}
		return v.send(b.String() + "\n")
	case time.Since(v.sent) >= comment:
		return v.send(":\n\n")
	}
	return nil
}

// plain keeps a character that may be in the ID of an event.
func plain(r rune) rune {
	if r < ' ' || r > '~' {
		return '_'
	}
	return r
}

// send sends text within the patience.
func (v *viewer) send(text string) error {
	_ = v.to.SetWriteDeadline(time.Now().Add(patience)) // a connection without deadlines is one of a test
	if _, err := v.w.Write([]byte(text)); err != nil {
		return err
	}
	v.sent = time.Now()
	return v.to.Flush()
}

// loopback reports whether the viewer is on this host.
func loopback(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
