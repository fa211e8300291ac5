package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/collect"
	"plimsoll/internal/effort"
	"plimsoll/internal/factor"
	"plimsoll/internal/history"
	"plimsoll/internal/history/historytest"
	"plimsoll/internal/lab"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/sim"
	"plimsoll/internal/study"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/null"
)

// measured holds two real runs, which tests copy.
var measured string

// TestMain keeps the notes of unfinished runs off this machine.
func TestMain(m *testing.M) {
	effort.CollectSeldom()
	dir, err := os.MkdirTemp("", "plimsoll-serve-")
	if err != nil {
		panic(err)
	}
	os.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
	measured = filepath.Join(dir, "measured")
	status := m.Run()
	os.RemoveAll(dir)
	os.Exit(status)
}

func laboratory() *lab.Lab {
	return &lab.Lab{Version: "test", Catalog: &study.Catalog{
		Workloads: []workload.Kind{null.Kind()}, Platforms: []platform.Kind{sim.Kind()}, Factors: []factor.Factor{sim.Knob()}, Sources: []collect.Source{collect.CPU()},
	}}
}

// site is a folder of results that is served.
type site struct {
	t      *testing.T
	folder string
	server *Server
	url    string
}

// newSite serves two runs, "a" and "b".
func newSite(t *testing.T, change func(*Options)) *site {
	t.Helper()
	s := &site{t: t, folder: filepath.Join(t.TempDir(), "results")}
	run(t)
	if err := os.CopyFS(s.folder, os.DirFS(measured)); err != nil {
		t.Fatal(err)
	}
	o := Options{Lab: laboratory(), Index: history.New(""), Folders: []string{s.folder}}
	if change != nil {
		change(&o)
	}
	var err error
	if s.server, err = New(o); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s.server.Handler())
	t.Cleanup(func() { web.Close(); s.server.Close() })
	s.url = web.URL
	return s
}

// run runs a study twice, once for all tests.
func run(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(measured); err == nil {
		return
	}
	l := laboratory()
	for i, name := range []string{"a", "b"} {
		source, err := l.Read("tutorial-ab", []string{"measure.window=1s", "measure.warmup=250ms", "measure.interval=250ms", "measure.blocks=6", fmt.Sprintf("platform.sim.capacity=%d/s", 2000+100*i)})
		if err != nil {
			t.Fatal(err)
		}
		outcome, err := l.Run(t.Context(), lab.Request{Source: *source, Dir: filepath.Join(measured, name), Seed: uint64(7 + i)})
		if err != nil {
			t.Fatal(err)
		}
		if err := outcome.Write(); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *site) id(name string) string { return history.ID(filepath.Join(s.folder, name)) }

// get gets a path, with the status that is wanted.
func (s *site) get(path string, status int) (string, http.Header) {
	s.t.Helper()
	answer, err := http.Get(s.url + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if answer.StatusCode != status {
		s.t.Errorf("%s: status %d, want %d: %.300s", path, answer.StatusCode, status, body)
	}
	return string(body), answer.Header
}

func (s *site) json(path string, status int, into any) {
	s.t.Helper()
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	body, head := s.get(path+separator+"format=json", status)
	if kind := head.Get("Content-Type"); kind != "application/json" {
		s.t.Errorf("%s: %s", path, kind)
	}
	if err := json.Unmarshal([]byte(body), into); err != nil {
		s.t.Errorf("%s: %v", path, err)
	}
}

// Every page shows what it should, and says the same to programs.
func TestPages(t *testing.T) {
	s := newSite(t, nil)
	a, b := s.id("a"), s.id("b")
	for path, want := range map[string]string{
		"/":                           "2 of 2 runs",
		"/?study=tutorial-ab":         "2 of 2 runs",
		"/?verdict=worse":             "None of the 2 runs matches",
		"/?q=nothing":                 "None of the 2 runs matches",
		"/run/" + a:                   "Does the knob raise the rate?",
		"/run/" + a + "/trial/1":      "operations over the course of each run",
		"/run/" + a + "/trial/12":     "trial/11",
		"/compare?a=" + a + "&b=" + b: "Testbeds",
		"/testbeds":                   "<main",
	} {
		body, head := s.get(path, http.StatusOK)
		if !strings.Contains(body, want) {
			t.Errorf("%s does not have %q", path, want)
		}
		if kind := head.Get("Content-Type"); kind != "text/html; charset=utf-8" {
			t.Errorf("%s: %s", path, kind)
		}
		for name, part := range map[string]string{"Content-Security-Policy": "default-src 'none'", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY"} {
			if !strings.Contains(head.Get(name), part) {
				t.Errorf("%s: %s is %q", path, name, head.Get(name))
			}
		}
		if strings.Contains(body, "<script") || strings.Contains(head.Get("Content-Security-Policy"), "script-src") {
			t.Errorf("%s has a script", path)
		}
	}
	file, err := os.ReadFile(filepath.Join(s.folder, "a", "report.html"))
	if body, _ := s.get("/run/"+a, http.StatusOK); err != nil || body != string(file) {
		t.Errorf("the report is not the one of plimsoll report: %v", err)
	}
}

func TestJSON(t *testing.T) {
	s := newSite(t, nil)
	a, b := s.id("a"), s.id("b")
	var list runsView
	if s.json("/", http.StatusOK, &list); list.Total != 2 || len(list.Runs) != 2 || list.Runs[0].State != history.Finished || list.Runs[0].Verdict == "" || list.Runs[0].Trials < 12 {
		t.Errorf("%+v", list)
	}
	var one struct {
		Run      history.Run
		Findings struct{ Study string }
	}
	if s.json("/run/"+a, http.StatusOK, &one); one.Run.ID != a || one.Findings.Study != "tutorial-ab" {
		t.Errorf("%+v", one)
	}
	var trial struct{ Record struct{ Trial int } }
	if s.json("/run/"+a+"/trial/3", http.StatusOK, &trial); trial.Record.Trial != 3 {
		t.Errorf("%+v", trial)
	}
	var compared struct {
		Comparisons []struct{ Changes []struct{ Metric string } }
		Testbed     []bedLine
	}
	if s.json("/compare?a="+a+"&b="+b, http.StatusOK, &compared); len(compared.Comparisons) != 2 || len(compared.Comparisons[0].Changes) == 0 {
		t.Errorf("%+v", compared)
	}
	var beds struct{ Testbeds []testbed }
	s.json("/testbeds", http.StatusOK, &beds)
	var failed struct{ Error string }
	for path, status := range map[string]int{
		"/run/none": http.StatusNotFound, "/run/" + a + "/trial/99": http.StatusNotFound, "/run/" + a + "/trial/x": http.StatusBadRequest, "/nowhere": http.StatusNotFound,
		"/compare": http.StatusBadRequest, "/compare?a=" + a + "&b=none": http.StatusNotFound, "/compare?a=" + a + "&b=" + b + "&arm=none": http.StatusUnprocessableEntity,
		"/?state=none": http.StatusBadRequest, "/?since=none": http.StatusBadRequest, "/?page=0": http.StatusBadRequest, "/?sort=none": http.StatusBadRequest, "/trend/x": http.StatusNotFound,
	} {
		failed.Error = ""
		if s.json(path, status, &failed); failed.Error == "" {
			t.Errorf("%s fails without a reason", path)
		}
	}
}

// The files of a trial are those that its record names, as they are.
func TestTrialFiles(t *testing.T) {
	s := newSite(t, nil)
	path := "/run/" + s.id("a") + "/trial/1/"
	want, err := os.ReadFile(filepath.Join(s.folder, "a/trials/0001/intervals.csv"))
	if err != nil {
		t.Fatal(err)
	}
	body, head := s.get(path+"intervals.csv", http.StatusOK)
	if body != string(want) || head.Get("Content-Type") != "text/plain; charset=utf-8" || !strings.HasPrefix(head.Get("Content-Disposition"), "attachment") {
		t.Errorf("%d bytes, %v", len(body), head)
	}
	for _, name := range []string{"record.json", "..%2Frecord.json", "%2Fetc%2Fpasswd", "..%2F..%2Fstudy.json", "intervals.csv%00"} {
		s.get(path+name, http.StatusNotFound)
	}
	if err := os.WriteFile(filepath.Join(s.folder, "a/trials/0001/intervals.csv"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if body, _ := s.get(path+"intervals.csv", http.StatusInternalServerError); !strings.Contains(body, "checksum") {
		t.Errorf("a changed file: %s", body)
	}
}

// Long lists have pages, whose addresses keep the filters; runs that go on come first.
func TestLists(t *testing.T) {
	s := newSite(t, nil)
	start := time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC)
	for n := range 120 {
		if err := historytest.Write(historytest.Run{Dir: filepath.Join(s.folder, fmt.Sprint("made-", n)), Study: "many & more", Started: start.Add(time.Duration(n) * time.Hour), Trials: 2, Verdict: "worse", Answer: "x", Ratio: .9}); err != nil {
			t.Fatal(err)
		}
	}
	unlock := held(t, filepath.Join(s.folder, "old"), start.Add(-time.Hour))
	defer unlock()
	var list runsView
	if s.json("/", http.StatusOK, &list); list.Total != 123 || list.Pages != 3 || len(list.Runs) != 50 || list.Runs[0].State != history.Running || !list.Runs[2].Started.After(list.Runs[3].Started) {
		t.Errorf("%d runs on %d pages; the first is %s", list.Total, list.Pages, list.Runs[0].State)
	}
	body, _ := s.get("/?study=many+%26+more&page=2", http.StatusOK)
	for _, want := range []string{"120 of 123 runs", "Page 2 of 3", `href="/?page=3&amp;study=many&#43;%26&#43;more" rel="next"`, `href="/?page=1&amp;study=many&#43;%26&#43;more" rel="prev"`} {
		if !strings.Contains(body, want) {
			t.Errorf("the second page does not have %q", want)
		}
	}
	if body, _ := s.get("/run/"+s.id("old"), http.StatusOK); !strings.Contains(body, "The run goes on") {
		t.Errorf("a run that goes on: %.300s", body)
	}
}

// The live page of a run that goes on, and the trend of a study, are made by others.
func TestOtherPages(t *testing.T) {
	var made []string
	s := newSite(t, func(o *Options) {
		o.Live = func(dir, prefix, report string) Live {
			made = append(made, filepath.Base(dir)+" "+prefix+" "+report)
			return livePage{}
		}
		o.Trend = func(_ context.Context, study, metric string) (Trend, error) {
			return trendPage{study + " " + metric}, nil
		}
	})
	unlock := held(t, filepath.Join(s.folder, "old"), time.Now())
	defer unlock()
	id := s.id("old")
	for range 2 {
		if body, _ := s.get("/run/"+id, http.StatusOK); body != "live /run/"+id+"/live/" {
			t.Errorf("live: %s", body)
		}
	}
	if want := "old /run/" + id + "/live/ /run/" + id; len(made) != 1 || made[0] != want {
		t.Errorf("made %q, want %q once", made, want)
	}
	if body, _ := s.get("/trend/queue-depth?metric=p99", http.StatusOK); body != "queue-depth p99" {
		t.Errorf("trend: %s", body)
	}
	s.get("/run/none/live/", http.StatusNotFound)
	tuned := filepath.Join(s.folder, "tuned")
	err := historytest.Write(historytest.Run{Dir: tuned, Study: "only-tuned", Started: time.Now()})
	if err := errors.Join(err, os.WriteFile(filepath.Join(tuned, "tuned.json"), []byte("{}"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if body, _ := s.get("/", http.StatusOK); !strings.Contains(body, "only-tuned") || strings.Contains(body, `href="/trend/only-tuned"`) {
		t.Error("a tuning is not listed, or leads to a trend that it is no part of")
	}
	unlock()
	answer, err := http.DefaultTransport.RoundTrip(httptest.NewRequest(http.MethodGet, s.url+"/run/"+id+"/live/", nil))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if to := answer.Header.Get("Location"); answer.StatusCode != http.StatusSeeOther || to != "/run/"+id {
		t.Errorf("the live page of a run that has ended: status %d, leads to %q", answer.StatusCode, to)
	}
	if body, _ := s.get("/", http.StatusOK); !strings.Contains(body, `href="/trend/tutorial-ab"`) {
		t.Error("no way to the trend")
	}
}

type livePage struct{}

func (livePage) ServeHTTP(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "live "+r.URL.Path) }
func (livePage) Close()                                           {}

type trendPage struct{ text string }

func (p trendPage) Page() ([]byte, error) { return []byte(p.text), nil }
func (p trendPage) JSON() any             { return p.text }
