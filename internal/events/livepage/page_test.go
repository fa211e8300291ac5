package livepage

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/events"
	"plimsoll/internal/measure"
	"plimsoll/internal/trial/certify"
)

// recorded is a results folder with events.
type recorded struct {
	t   *testing.T
	dir string
}

func folder(t *testing.T) *recorded {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return &recorded{t, dir}
}

// add appends lines to the events.
func (r *recorded) add(lines ...events.Line) {
	r.t.Helper()
	file, err := os.OpenFile(filepath.Join(r.dir, events.FileName), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		r.t.Fatal(err)
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() == 0 {
		lines = append([]events.Line{{Format: events.Format, Version: events.Version, Time: time.Now()}}, lines...)
	}
	for _, l := range lines {
		if l.Time.IsZero() {
			l.Time = time.Now()
		}
		text, err := json.Marshal(l)
		if err != nil {
			r.t.Fatal(err)
		}
		if _, err := file.Write(append(text, '\n')); err != nil {
			r.t.Fatal(err)
		}
	}
}

// page is a page of the folder at /run/1/live/.
func (r *recorded) page() *Page {
	p := New(Options{Dir: r.dir, Prefix: "/run/1/live/", Report: "/run/1/"})
	r.t.Cleanup(p.Close)
	return p
}

// get asks a page for a path.
func get(t *testing.T, p *Page, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	p.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

func run() *events.Run {
	return &events.Run{
		Name: "qd-1", Study: "queue-depth", Question: "Does a second outstanding I/O help?", Platform: "local", Arms: []string{"storage.threads=1", "storage.threads=2"}, Blocks: 24, Looks: []int{6, 9, 13},
		Metric: measure.Metric{Name: "iops", Unit: "1/s", Better: measure.HigherIsBetter}, Limits: certify.Watched(),
	}
}

func number(v float64) *float64 { return &v }

// course is a run in its third trial, with a load for so many seconds.
func course(seconds int) (lines []events.Line) {
	for i := range seconds {
		f := events.Figures{Operations: 20000, Rate: 20000 + float64(i%7)*100, P50: number(.0012), P99: number(.009), Errors: int64(i % 2)}
		lines = append(lines, events.Line{
			Elapsed: float64(60 + i), Phase: "measure", InPhase: float64(i), Trial: 3, Trials: 48, Block: 2, Arm: "storage.threads=2", Blocks: 1, Look: 6, Left: 540, Soonest: 180,
			Load:     &events.Load{From: float64(i), To: float64(i + 1), Figures: f, Classes: map[string]events.Figures{"read": f, "write": f}},
			Counters: map[string]float64{"steal": .012, "cpu pressure": .4},
			Machines: []events.Machine{{Name: "n1", Group: "a", Load: &f, Counters: map[string]float64{"steal": .012}}, {Name: "n2"}},
		})
	}
	lines[0].Run = run()
	lines[0].Ended = []events.Ended{
		{Trial: 1, Block: 1, Arm: "storage.threads=1", Value: number(19000)}, {Trial: 2, Block: 1, Arm: "storage.threads=2", Value: number(21000)},
		{Trial: 4, Block: 1, Arm: "storage.threads=2", Void: "errors: 3 failed operations"},
	}
	lines[0].Notes = []events.Note{{Phase: "measure", Text: "a note"}}
	return lines
}

func TestPage(t *testing.T) {
	r := folder(t)
	r.add(course(30)...)
	w := get(t, r.page(), "/run/1/live/")
	page := w.Body.String()
	for _, want := range []string{
		"<h1>Does a second outstanding I/O help?</h1>", "Trial 3 of at most 48: measure.", "3 min 00 s to 9 min 00 s", "Next planned look: after 6 blocks; 1 block is complete.",
		"1 of 3 trials are void and repeated; the last, trial 4: errors: 3 failed operations", "20,100/s", "1.2 ms", "1.2 %", "40 %, beyond the limit", "a: n1", "a note", `<script type="module" src="/run/1/live/live.js">`,
		`data-stream="/run/1/live/stream"`, `data-report="/run/1/"`, "UTC. Without its script, this page does not update by itself.", `<noscript><p><a href="/run/1/live/">Load again</a></p></noscript>`, "Failed operations", "storage.threads=1",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if n := strings.Count(page, "<svg"); n != 1+2*4 { // the brand, and four figures in two widths
		t.Errorf("%d drawings", n)
	}
	policy := w.Header().Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'", "style-src 'sha256-"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy %q lacks %q", policy, want)
		}
	}
	if strings.Contains(policy, "unsafe") || w.Header().Get("X-Content-Type-Options") != "nosniff" || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("headers %v", w.Header())
	}
}

// Before a look decides there is no word and no colour of an effect, however far the arms are apart.
func TestNoVerdictBetweenLooks(t *testing.T) {
	r := folder(t)
	lines := course(30)
	for n := range 20 {
		lines[0].Ended = append(lines[0].Ended, events.Ended{Trial: 10 + n, Block: n, Arm: run().Arms[n%2], Value: number(float64(10000 * (1 + n%2)))})
	}
	r.add(lines...)
	page := get(t, r.page(), "/run/1/live/").Body.String()
	_, body, _ := strings.Cut(page, "<body")
	if found := regexp.MustCompile(`(?i)\b(better|worse|faster|slower|equivalent|gain|loss|regression|mean)\b`).FindString(body); found != "" {
		t.Errorf("the page says %q", found)
	}
	if found := regexp.MustCompile(`class="[^"]*\b(a[0-9]|r[0-9]|better|worse|equivalent|different)\b[^"]*"`).FindString(body); found != "" {
		t.Errorf("a mark has a colour: %s", found)
	}
	if found := regexp.MustCompile(`[+−-]\d+(\.\d+)? %`).FindString(body); found != "" {
		t.Errorf("the page has a change: %s", found)
	}
}

func TestLooks(t *testing.T) {
	for _, c := range []struct {
		looks        []int
		blocks, next int
		want         string
	}{
		{[]int{6, 9}, 0, 6, "Next planned look: after 6 blocks; 0 blocks are complete. Effect and verdict follow when a look decides, or at the end."},
		{[]int{6, 9}, 7, 9, "Next planned look: after 9 blocks; 7 blocks are complete. Effect and verdict follow when a look decides, or at the end. Undecided after 6 blocks."},
		{nil, 3, 0, "No effect is shown before the run has ended: 3 blocks are complete."},
	} {
		if got := looks(&events.Run{Looks: c.looks}, &events.Line{Blocks: c.blocks, Look: c.next}); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestClock(t *testing.T) {
	for seconds, want := range map[float64]string{-1: "", 0: "0 s", 59.9: "59 s", 60: "1 min 00 s", 3599: "59 min 59 s", 3660: "1 h 01 min", 1e300: ""} {
		if got := clock(seconds); got != want {
			t.Errorf("%g s is %q, want %q", seconds, got, want)
		}
	}
}

// Words of a file stay text, whatever they are, and numbers that cannot be are left out.
func TestHostileEvents(t *testing.T) {
	r := folder(t)
	const evil = `<script>alert(1)</script>"'><img src=x onerror=alert(1)>`
	lines := course(3)
	lines[0].Run = &events.Run{Name: evil, Study: evil, Question: evil, Platform: evil, Arms: []string{evil, evil + "2"}, Metric: measure.Metric{Name: evil, Unit: evil}, Limits: []certify.Limit{{Check: evil, Most: 1e300}}}
	lines[0].Ended = []events.Ended{{Trial: 1, Arm: evil, Value: number(-1e14)}, {Trial: 2, Arm: evil + "2", Value: number(-1e14 + 1)}, {Trial: 3, Arm: evil, Value: number(1e308)}, {Trial: 4, Arm: "x", Void: evil}}
	lines[1].Load.Figures = events.Figures{Rate: 1e308, P99: number(-5)}
	last := &lines[2]
	last.Phase, last.Arm, last.Elapsed, last.Left, last.Trials, last.Look, last.Notes = evil, evil, 1e14, 1e300, -7, 1<<62, []events.Note{{Phase: evil, Text: evil}}
	last.Load.Classes, last.Counters, last.Machines = map[string]events.Figures{evil: {Rate: 1e308}}, map[string]float64{evil: 1e308}, []events.Machine{{Name: evil, Group: evil, Counters: map[string]float64{evil: -1}}}
	r.add(lines...)
	page := get(t, r.page(), "/run/1/live/").Body.String()
	if strings.Contains(page, "<script>") || strings.Contains(page, "<img") {
		t.Error("words of the file became markup")
	}
	if strings.Contains(page, "NaN") || strings.Contains(page, "Inf") || strings.Contains(page, "cannot be shown") {
		t.Error("a number is not one")
	}
}

// A run is found below its folder, as in a tuning; without one the page waits, until there are findings.
func TestWithoutARun(t *testing.T) {
	r := folder(t)
	if page := get(t, r.page(), "/run/1/live/").Body.String(); !strings.Contains(page, "Waiting for a run to begin.") || !strings.Contains(page, "live.js") {
		t.Error("the page does not wait")
	}
	step := &recorded{t, filepath.Join(r.dir, "verify-1")}
	if err := os.Mkdir(step.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	step.add(course(2)...)
	if page := get(t, r.page(), "/run/1/live/").Body.String(); !strings.Contains(page, "Trial 3 of at most 48") {
		t.Error("the run of a tuning is not found")
	}
	if err := os.Remove(filepath.Join(step.dir, events.FileName)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.dir, "findings.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	page := get(t, r.page(), "/run/1/live/").Body.String()
	if !strings.Contains(page, "The run has ended.") || strings.Contains(page, "live.js\"") || !strings.Contains(page, `<a href="/run/1/">Report</a>`) {
		t.Errorf("a run that ended: %s", page[strings.Index(page, "<body"):])
	}
}

// A run that was killed says so, and how to go on.
func TestAKilledRun(t *testing.T) {
	r := folder(t)
	lines := course(2)
	for i := range lines {
		lines[i].Time = time.Now().Add(-time.Hour)
	}
	r.add(lines...)
	if page := get(t, r.page(), "/run/1/live/").Body.String(); !strings.Contains(page, "Not running: it was interrupted or killed. To continue: plimsoll resume "+r.dir) {
		t.Error("a run that was killed seems to go on")
	}
	r = folder(t)
	if err := os.WriteFile(filepath.Join(r.dir, events.FileName), []byte(`{"format":"plimsoll-events","version":"9.0"}`+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if page := get(t, r.page(), "/run/1/live/").Body.String(); !strings.Contains(page, "cannot be read: read events: events of version &#34;9.0&#34;, and this plimsoll reads version 1.x.") {
		t.Error("events of another version are shown")
	}
}

func TestRequests(t *testing.T) {
	r := folder(t)
	r.add(course(2)...)
	p := r.page()
	for path, want := range map[string]int{"/run/1/live/": 200, "/run/1/live/live.js": 200, "/run/1/live/x": 404, "/run/1/live/../../../etc/passwd": 404, "/": 404, "/run/1/live/?format=json": 200} {
		if w := get(t, p, path); w.Code != want {
			t.Errorf("%s: status %d, want %d", path, w.Code, want)
		}
	}
	w := httptest.NewRecorder()
	if p.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/run/1/live/", nil)); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: status %d", w.Code)
	}
	w = httptest.NewRecorder()
	if p.ServeHTTP(w, httptest.NewRequest(http.MethodHead, "/run/1/live/", nil)); w.Code != 200 || w.Body.Len() > 0 {
		t.Errorf("HEAD: status %d, %d bytes", w.Code, w.Body.Len())
	}
	var state struct {
		Status string
		events.State
	}
	if err := json.Unmarshal(get(t, p, "/run/1/live/?format=json").Body.Bytes(), &state); err != nil || state.Status != "running" || len(state.Trials) != 3 || state.Last.Trial != 3 {
		t.Errorf("%+v, %v", state, err)
	}
	local := httptest.NewRequest(http.MethodGet, "/run/1/live/", nil)
	for peer, caution := range map[string]bool{"127.0.0.1:1": true, "[::1]:1": true, "192.0.2.1:1": false, "": false} {
		local.RemoteAddr = peer
		w := httptest.NewRecorder()
		if p.ServeHTTP(w, local); strings.Contains(w.Body.String(), "uses its CPU") != caution {
			t.Errorf("a viewer at %q: want a caution: %t", peer, caution)
		}
	}
}

// Whatever the lines hold, the page is drawn, and no mark lies at no number.
func FuzzPage(f *testing.F) {
	for _, l := range course(2) {
		text, err := json.Marshal(l)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add(`{"run":{"arms":["a"],"metric":{"unit":"1/s"}},"ended":[{"trial":1,"arm":"a","value":1e14},{"trial":2,"arm":"a","value":1.0000000000001e14}]}`)
	f.Add(`{"elapsed":1e14,"load":{"rate":1e-300,"p99":9e14,"errors":9223372036854775807},"counters":{"steal":-1e300}}`)
	f.Fuzz(func(t *testing.T, text string) {
		var l events.Line
		if json.Unmarshal([]byte(text), &l) != nil {
			t.Skip()
		}
		p := New(Options{Dir: t.TempDir(), Prefix: "/"})
		p.state.Add(l)
		p.state.Add(l)
		for name, part := range p.draw("x", status{"running", "", true}).parts {
			if strings.Contains(part, "NaN") && !strings.Contains(text, "NaN") || strings.Contains(part, "cannot be shown") && !strings.Contains(text, "cannot be shown") {
				t.Errorf("part %s of %s: %s", name, text, part)
			}
		}
	})
}

// BenchmarkFrame is what a second costs, whoever looks: five minutes of a load, and 500 trials.
func BenchmarkFrame(b *testing.B) {
	p := New(Options{Dir: b.TempDir(), Prefix: "/"})
	for _, l := range course(300) {
		p.state.Add(l)
	}
	for n := range 500 {
		p.state.Add(events.Line{Ended: []events.Ended{{Trial: n + 10, Arm: run().Arms[n%2], Value: number(20000 + float64(n))}}})
	}
	for i := 0; b.Loop(); i++ {
		f := p.draw(fmt.Sprint(i), status{"running", "", true})
		if len(f.parts) == 0 {
			b.Fatal("nothing is drawn")
		}
	}
}

// BenchmarkViewer is what another viewer costs in a second: it gets the parts that changed.
func BenchmarkViewer(b *testing.B) {
	p := New(Options{Dir: b.TempDir(), Prefix: "/"})
	var frames []*frame
	for i, l := range course(302) {
		if p.state.Add(l); i >= 300 {
			frames = append(frames, p.draw(fmt.Sprint(i), status{"running", "", true}))
		}
	}
	v := &viewer{w: httptest.NewRecorder()}
	v.to = http.NewResponseController(v.w)
	size := 0
	for i := 0; b.Loop(); i++ {
		w := httptest.NewRecorder()
		v.w = w
		if err := v.show(frames[i%2]); err != nil {
			b.Fatal(err)
		}
		size = w.Body.Len()
	}
	b.ReportMetric(float64(size), "B/event")
}
