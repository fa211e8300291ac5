// Package livepage shows a run that goes on: its trials by arm, rate, errors and response times by second, the counters
// that the certificate watches, and the time left. It reads the events in the results folder and nothing else.
//
// Between planned looks there is no effect, no verdict and no colour of one: a difference that is watched while it
// wanders invites to stop when it pleases. The page works without scripts: it shows the state as it was served. With
// them the parts that change are replaced as the server sends them.
package livepage

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	_ "embed"

	"plimsoll/internal/events"
	"plimsoll/internal/trial/journal"
	"plimsoll/internal/webpage"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

//go:embed live.js
var script []byte

// Options say which run is shown, and where the page is.
type Options struct {
	Dir    string // results folder of a run, or of a tuning with the folders of its runs
	Prefix string // path of the page, with a slash at its end; below it are "stream" and "live.js"
	Report string // path of the report, which follows when the run has ended; empty for the page itself
}

// Page is a run that goes on, as an HTTP handler of GET and HEAD for its prefix and the paths below it: the page,
// or its state with ?format=json; the stream of its changes; and its script. It serves any number of viewers from one reading of
// the events, which are read only while somebody looks.
type Page struct {
	options  Options
	look     webpage.Look
	template *template.Template
	viewers  atomic.Int32

	mu       sync.Mutex
	follower *events.Follower // nil while there is no file
	folder   string           // of the file
	state    events.State
	news     time.Time // of the last line that was read
	read     time.Time
	frame    *frame
	values   drawn
}

// New makes the page of a run. The run may begin later.
func New(o Options) *Page {
	t, err := webpage.Parse(pageText, nil)
	if err != nil {
		panic(err) // the template is a constant
	}
	look := webpage.LookOf(pageStyle)
	look.Policy += "; script-src 'self'; connect-src 'self'; frame-ancestors 'none'"
	return &Page{options: o, look: look, template: t}
}

// Close closes the file of events.
func (p *Page) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.follower != nil {
		p.follower.Close()
	}
	p.follower = nil
}

// frame is the page at an instant.
type frame struct {
	id     string            // of the events that it shows
	parts  map[string]string // elements by their IDs, as HTML
	status status
	view   *view
}

const (
	fresh   = 800 * time.Millisecond // a frame that is younger is shown again
	silence = 25 * time.Second       // without news, after which it is asked whether the run goes on
	batches = 4096                   // at most, of about 1 MiB, that are read at once
)

// refresh reads the events that are new, and draws the page anew where something changed.
func (p *Page) refresh() *frame {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.frame != nil && now.Sub(p.read) < fresh {
		return p.frame
	}
	p.read = now
	s := p.follow(now)
	id := fmt.Sprintf("%s-%d-%s", filepath.Base(p.folder), p.offset(), s.Word)
	if p.frame == nil || p.frame.id != id {
		p.frame = p.draw(id, s)
	}
	return p.frame
}

func (p *Page) offset() int64 {
	if p.follower == nil {
		return 0
	}
	return p.follower.Offset()
}

// status is how a run stands.
type status struct {
	Word string
	Text string // for those who look
	live bool   // more may come
}

// follow reads what is new.
func (p *Page) follow(now time.Time) status {
	if p.follower == nil {
		folder := events.Find(p.options.Dir)
		if folder == "" {
			return p.without()
		}
		p.folder, p.follower = folder, events.NewFollower(folder)
	}
	for range batches {
		b, err := p.follower.Next()
		if errors.Is(err, fs.ErrNotExist) { // it ended, or another run of the same tuning begins
			p.follower.Close()
			p.follower = nil
			return p.without()
		}
		if err != nil {
			return status{"unreadable", "The state of this run cannot be read: " + err.Error() + ".", true}
		}
		if b.Anew {
			p.state = events.State{}
		}
		for _, l := range b.Lines {
			p.state.Add(l)
		}
		switch {
		case b.Anew:
			p.news = time.Time{} // it may be old
		case len(b.Lines) > 0:
			p.news = now
		}
		if !b.More {
			break
		}
	}
	return p.going(now)
}

// going says whether a run with a file of events goes on.
func (p *Page) going(now time.Time) status {
	last := p.state.Last.Time
	if now.Sub(last) < silence || now.Sub(p.news) < silence { // the clock of its host may differ from ours
		return status{"running", "", true}
	}
	if journal.Locked(p.folder) {
		return status{"silent", "No news since " + last.UTC().Format("15:04:05") + " UTC. The process of the run is there.", true}
	}
	return status{"stopped", "Not running: it was interrupted or killed. To continue: plimsoll resume " + p.options.Dir, true}
}

// without says how a run without a file of events stands.
func (p *Page) without() status {
	if _, err := os.Stat(filepath.Join(p.options.Dir, "findings.json")); err == nil {
		return status{"ended", "The run has ended.", false}
	}
	return status{"waiting", "Waiting for a run to begin.", true}
}

// draw draws the page. The parts are executed apart, so that each can be replaced alone.
func (p *Page) draw(id string, s status) *frame {
	f := &frame{id: id, status: s, parts: map[string]string{}, view: p.newView(s)}
	for _, name := range parts {
		var b bytes.Buffer
		if err := p.template.ExecuteTemplate(&b, name, f.view); err != nil {
			b.Reset()
			fmt.Fprintf(&b, "This part cannot be shown: %s", template.HTMLEscapeString(err.Error()))
		}
		f.parts[name] = b.String()
	}
	return f
}

// parts are the elements that change, by their IDs; each has a template of that name.
var parts = []string{"state", "facts", "values", "rate", "latency", "errors", "classes", "machines", "checks", "messages"}

// document is the data of the whole page.
type document struct {
	*view
	Look    webpage.Look
	Parts   map[string]template.HTML
	Live    bool
	After   string
	Prefix  string
	Report  string
	Served  string
	Caution string
}

// write writes the whole page.
func (p *Page) write(w http.ResponseWriter, r *http.Request) {
	f := p.refresh()
	d := document{
		view: f.view, Look: p.look, Parts: map[string]template.HTML{}, Live: f.status.live, After: f.id, Prefix: p.options.Prefix, Report: p.options.Report,
		Served: time.Now().UTC().Format("15:04:05 UTC"),
	}
	for name, text := range f.parts {
		d.Parts[name] = template.HTML(text) // of a template, which escaped it
	}
	if f.view.Local && loopback(r) {
		d.Caution = "This browser runs on the host under test and uses its CPU. Close the page, or open it from another machine."
	}
	var b bytes.Buffer
	if err := p.template.Execute(&b, d); err != nil {
		http.Error(w, "the page cannot be shown: "+err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", p.look.Policy)
	h.Set("Content-Length", fmt.Sprint(b.Len()))
	if r.Method != http.MethodHead {
		_, _ = w.Write(b.Bytes()) // a viewer that is gone
	}
}
