package livepage

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/browsertest"
	"plimsoll/internal/events"
)

// site serves a page and, once the run has ended, its report.
type site struct {
	t       *testing.T
	address string
	server  *http.Server
	page    *Page
}

func serve(t *testing.T, r *recorded, address string) *site {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	p := New(Options{Dir: r.dir, Prefix: "/run/1/live/", Report: "/run/1/"})
	mux.Handle("/run/1/live/", p)
	mux.HandleFunc("/run/1/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!DOCTYPE html><title>report</title><h1>report</h1>"))
	})
	s := &site{t, listener.Addr().String(), &http.Server{Handler: mux}, p}
	go func() { _ = s.server.Serve(listener) }()
	t.Cleanup(s.stop)
	return s
}

func (s *site) stop() { _ = s.server.Close() }

// until waits until an expression of the page is true.
func until(t *testing.T, b *browsertest.Browser, what, expression string) {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); ; {
		if b.Holds(expression) {
			return
		}
		if time.Now().After(limit) {
			var text string
			b.Eval("document.body.innerText", &text)
			t.Fatalf("%s: not in 20 s. The page: %.1500s", what, text)
		}
		<-time.After(100 * time.Millisecond)
	}
}

// The page follows the run in a real browser, also after its server was started again, and ends with the report.
func TestInBrowser(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to open the page in Chromium")
	}
	r := folder(t)
	lines := course(80)
	r.add(lines[:60]...)
	s := serve(t, r, "127.0.0.1:0")
	b := browsertest.Start(t)
	blank := filepath.Join(t.TempDir(), "blank.html")
	if err := os.WriteFile(blank, []byte("<!DOCTYPE html><title>blank</title>"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, v := range []browsertest.View{{Width: 1280}, {Width: 390, Dark: true}, {Width: 320}} {
		b.Open(blank, v)
		var gone string
		b.Eval(`location.href = "http://`+s.address+`/run/1/live/"`, &gone)
		until(t, b, "the stream is open", `document.getElementById("connection")?.textContent === "Updated every second."`)
		var width float64
		if b.Eval("document.documentElement.scrollWidth", &width); int(width) > v.Width {
			t.Errorf("the page is %v px wide in %d", width, v.Width)
		}
		if dir := os.Getenv("PLIMSOLL_RENDER"); dir != "" {
			b.Pictures(filepath.Join(dir, fmt.Sprintf("live-%d", v.Width)), v, 2000, 0)
		}
	}
	running := "http://" + s.address + "/run/1/live/"
	violations(t, b, "a run that goes on", running)
	asServed(t, b, running)
	b.Visit(running, browsertest.View{Width: 1280})
	until(t, b, "the stream is open again", `document.getElementById("connection").textContent === "Updated every second."`)
	next := lines[60]
	next.Trial, next.Phase = 5, "settle"
	r.add(next)
	until(t, b, "a line is shown", `document.getElementById("state").textContent === "Trial 5 of at most 48: settle."`)
	s.stop()
	until(t, b, "the loss is told", `document.getElementById("connection").textContent.startsWith("No connection")`)
	next.Trial = 6
	r.add(next)
	s = serve(t, r, s.address)
	until(t, b, "a line from a server that was started again is shown", `document.getElementById("state").textContent.startsWith("Trial 6 ")`)
	hidden(t, b, r, s)
	for _, complaint := range b.Complaints() {
		if !strings.Contains(complaint, s.address) {
			t.Error(complaint)
		}
	}
	if err := os.WriteFile(filepath.Join(r.dir, "findings.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(r.dir, events.FileName)); err != nil {
		t.Fatal(err)
	}
	until(t, b, "the report follows", `document.title === "report"`)
	violations(t, b, "a run that has ended", running)
}

func violations(t *testing.T, b *browsertest.Browser, what, address string) {
	t.Helper()
	for _, violation := range b.Violations(address) {
		t.Errorf("%s: %s", what, violation)
	}
}

// asServed opens the page without scripts: it shows the state, and says that it stays as it is.
func asServed(t *testing.T, b *browsertest.Browser, address string) {
	t.Helper()
	b.Scripts(false)
	defer b.Scripts(true)
	b.Visit(address, browsertest.View{Width: 390})
	var text string
	b.Eval("document.body.innerText", &text)
	for _, want := range []string{
		"Trial 3 of at most 48: measure.", "Next planned look: after 6 blocks", "20,", "1.2 ms", "a: n1", "40 %, beyond the limit", "a note",
		"UTC. Without its script, this page does not update by itself.", "Load again",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("without scripts the page lacks %q: %s", want, text)
		}
	}
	var again string
	if b.Eval(`document.querySelector("noscript a")?.href ?? ""`, &again); again != address {
		t.Errorf("without scripts the page is loaded again from %q", again)
	}
}

// hidden hides the page: it then takes no stream, and catches up with all that happened when it is shown.
func hidden(t *testing.T, b *browsertest.Browser, r *recorded, s *site) {
	t.Helper()
	show := b.Hide()
	until(t, b, "the pause is told", `document.hidden && document.getElementById("connection").textContent === "Paused while this page is hidden."`)
	server(t, "no stream is open", func() bool { return s.page.viewers.Load() == 0 })
	lines := course(20)
	for i := range lines {
		lines[i].Run, lines[i].Trial, lines[i].Elapsed, lines[i].Ended, lines[i].Notes = nil, 7, float64(200+i), nil, nil
	}
	lines[3].Ended = []events.Ended{{Trial: 5, Block: 2, Arm: "storage.threads=1", Value: number(18000)}}
	lines[5].Notes = []events.Note{{Phase: "measure", Text: "the first unseen note"}}
	lines[9].Ended = []events.Ended{{Trial: 6, Block: 2, Arm: "storage.threads=2", Void: "errors: 9 failed operations"}}
	lines[9].Notes = []events.Note{{Phase: "measure", Text: "the second unseen note"}}
	r.add(lines...)
	server(t, "the lines are read", func() bool { return strings.HasPrefix(s.page.refresh().parts["state"], "Trial 7 ") })
	var text string
	if b.Eval(`document.getElementById("state").textContent`, &text); !strings.HasPrefix(text, "Trial 6 ") {
		t.Errorf("the hidden page shows %q", text)
	}
	show()
	until(t, b, "the page catches up", `document.getElementById("state").textContent.startsWith("Trial 7 ")`)
	b.Eval(`document.getElementById("messages").textContent + document.getElementById("values").textContent`, &text)
	for _, want := range []string{"the first unseen note", "the second unseen note", "2 of 5 trials are void and repeated; the last, trial 6: errors: 9 failed operations"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page that was hidden lacks %q: %s", want, text)
		}
	}
	var stale []string
	b.Eval(`fetch(location.href).then(answer => answer.text()).then(text => {
		const served = new DOMParser().parseFromString(text, "text/html");
		return "`+strings.Join(parts, " ")+`".split(" ").filter(id => served.getElementById(id).innerHTML !== document.getElementById(id).innerHTML);
	})`, &stale)
	if len(stale) > 0 {
		t.Errorf("the page that was hidden differs from a new one in %q", stale)
	}
}

// server waits until something holds at the server.
func server(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); !holds(); <-time.After(50 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("%s: not in 20 s", what)
		}
	}
}
