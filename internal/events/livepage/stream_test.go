package livepage

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/internal/events"
)

// browser takes a stream.
type browser struct {
	mu       sync.Mutex
	got      bytes.Buffer
	header   http.Header
	status   int
	deadline time.Time
	slow     bool // it takes nothing more
}

func (b *browser) Header() http.Header { return b.header }
func (b *browser) WriteHeader(s int)   { b.status = s }
func (b *browser) Flush()              {}
func (b *browser) SetWriteDeadline(at time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.deadline = at
	return nil
}

func (b *browser) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.slow {
		<-time.After(time.Until(b.deadline))
		return 0, os.ErrDeadlineExceeded
	}
	return b.got.Write(p)
}

// take is what came since the last call.
func (b *browser) take() string {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.got.Reset()
	return b.got.String()
}

// open opens the stream of a page; the channel is closed at its end.
func open(t *testing.T, p *Page, path, last string) (b *browser, ended chan struct{}, leave func()) {
	ctx, leave := context.WithCancel(t.Context())
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	b, ended = &browser{header: http.Header{}}, make(chan struct{})
	go func() {
		defer close(ended)
		p.ServeHTTP(b, r)
	}()
	return b, ended, leave
}

// event is the last event of a text: its ID and the names of its parts.
func event(t *testing.T, text string) (id string, names []string) {
	t.Helper()
	i := strings.LastIndex(text, "event: parts\n")
	if i < 0 {
		t.Fatalf("no event in %q", text)
	}
	for line := range strings.Lines(text[i:]) {
		if after, ok := strings.CutPrefix(line, "id: "); ok {
			id = strings.TrimSpace(after)
		}
		if after, ok := strings.CutPrefix(line, "data: "); ok {
			var changed map[string]string
			if err := json.Unmarshal([]byte(after), &changed); err != nil {
				t.Fatal(err)
			}
			names = slices.Sorted(maps.Keys(changed))
		}
	}
	return id, names
}

// A stream sends what changed, begins again where a viewer left it, keeps the connection, and ends with the run.
func TestStream(t *testing.T) {
	r := folder(t)
	synctest.Test(t, func(t *testing.T) {
		lines := course(6)
		for i := range lines {
			lines[i].Time = time.Now()
		}
		r.add(lines[:2]...)
		p := New(Options{Dir: r.dir, Prefix: "/"})
		defer p.Close()
		b, ended, leave := open(t, p, "/stream", "")
		id, names := event(t, b.take())
		if len(names) != len(parts) || id == "" || b.header.Get("Content-Type") != "text/event-stream" || b.header.Get("X-Accel-Buffering") != "no" {
			t.Errorf("first event %s with %q, headers %v", id, names, b.header)
		}
		r.add(lines[2])
		<-time.After(1100 * time.Millisecond) // virtual
		second, names := event(t, b.take())
		if second == id || !slices.Contains(names, "rate") || slices.Contains(names, "values") || slices.Contains(names, "messages") {
			t.Errorf("after a second: event %s with %q", second, names)
		}
		again, _, leaveToo := open(t, p, "/stream", second)
		late, _, leaveLate := open(t, p, "/stream?after="+id, "")
		if text := again.take(); text != "retry: 1000\n\n" {
			t.Errorf("a viewer who has everything gets %q", text)
		}
		if third, names := event(t, late.take()); third != second || len(names) != len(parts) {
			t.Errorf("a viewer who missed a line gets event %s with %q", third, names)
		}
		leaveToo()
		leaveLate()
		b.take()
		<-time.After(16 * time.Second) // virtual
		if text := b.take(); text != ":\n\n" {
			t.Errorf("in 16 s without news: %q", text)
		}
		if err := os.WriteFile(filepath.Join(r.dir, "findings.json"), []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(r.dir, events.FileName)); err != nil {
			t.Fatal(err)
		}
		<-ended
		if text := b.take(); text != "event: end\ndata: {}\n\n" {
			t.Errorf("at the end: %q", text)
		}
		leave()
	})
}

// A viewer who takes nothing is dropped, and holds up nobody.
func TestSlowViewer(t *testing.T) {
	r := folder(t)
	synctest.Test(t, func(t *testing.T) {
		r.add(course(2)...)
		p := New(Options{Dir: r.dir, Prefix: "/"})
		defer p.Close()
		b, ended, leave := open(t, p, "/stream", "")
		defer leave()
		other, otherEnded, leaveOther := open(t, p, "/stream", "")
		b.take()
		other.take()
		b.mu.Lock()
		b.slow = true
		b.mu.Unlock()
		began := time.Now()
		<-time.After(500 * time.Millisecond) // between two looks at the file
		for i := range 8 {
			l := course(1)[0]
			l.Run, l.Elapsed, l.Time = nil, float64(100+i), time.Now()
			r.add(l)
			<-time.After(time.Second) // virtual
		}
		<-ended
		if took := time.Since(began); took > patience+4*time.Second {
			t.Errorf("a slow viewer was kept for %s", took)
		}
		if n := strings.Count(other.take(), "event: parts"); n < 6 {
			t.Errorf("another viewer got %d events in 8 s", n)
		}
		leaveOther()
		<-otherEnded
	})
}

// There are only so many viewers, and one who leaves makes room.
func TestManyViewers(t *testing.T) {
	r := folder(t)
	synctest.Test(t, func(t *testing.T) {
		r.add(course(2)...)
		p := New(Options{Dir: r.dir, Prefix: "/"})
		defer p.Close()
		var leave []func()
		for range mostViewers {
			_, _, out := open(t, p, "/stream", "")
			leave = append(leave, out)
		}
		synctest.Wait()
		b, ended, _ := open(t, p, "/stream", "")
		<-ended
		if b.status != http.StatusServiceUnavailable || b.header.Get("Retry-After") == "" {
			t.Errorf("viewer %d gets status %d", mostViewers+1, b.status)
		}
		for _, out := range leave {
			out()
		}
		synctest.Wait()
		b, ended, out := open(t, p, "/stream", "")
		if !strings.Contains(b.take(), "event: parts") {
			t.Error("viewers that left take up room")
		}
		out()
		<-ended
	})
}
