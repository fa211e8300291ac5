package serve

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/events"
	"plimsoll/internal/exposition"
	"plimsoll/internal/history"
	"plimsoll/internal/history/historytest"
	"plimsoll/internal/history/metrics"
)

func TestMetrics(t *testing.T) {
	s := newSite(t, nil)
	if err := historytest.Write(historytest.Run{Dir: filepath.Join(s.folder, "odd"), Study: "a \"quoted\"\nstudy \\ ü", Started: time.Unix(1767323045, 0), Trials: 5, Void: 2, Verdict: "better", Answer: "x", Ratio: 1.25}); err != nil {
		t.Fatal(err)
	}
	body, head := s.get("/metrics", http.StatusOK)
	if kind := head.Get("Content-Type"); kind != "text/plain; version=0.0.4; charset=utf-8" {
		t.Error(kind)
	}
	for _, want := range []string{
		"# TYPE plimsoll_trials_total counter\n",
		`plimsoll_trials_total{run="` + s.id("odd") + `",study="a \"quoted\"\nstudy \\ ü",state="void"} 2` + "\n",
		`plimsoll_headline_ratio{run="` + s.id("odd") + `",study="a \"quoted\"\nstudy \\ ü",metric="iops",arm="knob=on",bound="estimate"} 1.25` + "\n",
		`plimsoll_runs{state="finished"} 3` + "\n",
		"plimsoll_run_start_time_seconds{",
		"plimsoll_run_info{",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in\n%s", want, body)
		}
	}
	if strings.Contains(body, "# EOF") || strings.Contains(body, `trial="`) {
		t.Error(body)
	}
	r, err := http.NewRequestWithContext(t.Context(), "GET", s.url+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.1")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if kind := answer.Header.Get("Content-Type"); kind != "application/openmetrics-text; version=1.0.0; charset=utf-8" {
		t.Error(kind)
	}
	promtoolAccepts(t, body)
}

// promtoolAccepts has promtool check a text of metrics, also by its rules for names.
func promtoolAccepts(t *testing.T, body string) {
	t.Helper()
	if os.Getenv("PLIMSOLL_REAL") == "" {
		return
	}
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("needs promtool")
	}
	check := exec.Command(promtool, "check", "metrics")
	check.Stdin = strings.NewReader(body)
	if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool: %v, %s\n%s", err, out, body)
	}
}

// A run that goes on has the load of its last interval, and its operations so far; no more when it has ended.
func TestMetricsOfARunThatGoesOn(t *testing.T) {
	s := newSite(t, nil)
	dir := filepath.Join(s.folder, "held")
	unlock := held(t, dir, time.Now())
	id := s.id("held")
	labels := `{run="` + id + `",study="held"`
	if body, _ := s.get("/metrics", http.StatusOK); strings.Contains(body, "plimsoll_operations_total") || strings.Contains(body, "plimsoll_interval") {
		t.Errorf("before it has events:\n%s", body)
	}
	file := events.NewFile(dir, "test")
	add := func(load string) {
		t.Helper()
		if err := file.Append([]byte(`{"time":"` + time.Now().UTC().Format(time.RFC3339) + `","trial":1,"arm":"knob=on"` + load + "}\n")); err != nil {
			t.Fatal(err)
		}
	}
	add(`,"load":{"from":0,"to":1,"operations":900,"errors":1,"rate":900}`)
	add(`,"load":{"from":1,"to":3,"operations":1800,"errors":6,"rate":900,"p50":0.001,"p99":0.0125,"classes":{"read":{"operations":1000},"write":{"operations":800}}}`)
	body, _ := s.get("/metrics", http.StatusOK)
	for _, want := range []string{
		"plimsoll_operations_total" + labels + `,outcome="success"} 2700`, "plimsoll_operations_total" + labels + `,outcome="error"} 7`, "plimsoll_interval_operations_per_second" + labels + "} 900",
		"plimsoll_interval_errors_per_second" + labels + "} 3", "plimsoll_interval_p50_seconds" + labels + "} 0.001", "plimsoll_interval_p99_seconds" + labels + "} 0.0125",
	} {
		if strings.Count(body, want+"\n") != 1 {
			t.Errorf("no %s in\n%s", want, body)
		}
	}
	for line := range strings.Lines(body) { // nothing of a run that goes on compares arms
		if strings.Contains(line, id) && (strings.Contains(line, "arm=") || strings.Contains(line, "knob") || strings.HasPrefix(line, "plimsoll_headline")) {
			t.Errorf("between planned looks there is %s", line)
		}
	}
	promtoolAccepts(t, body)
	add(`,"phase":"restore"`)
	if body, _ = s.get("/metrics", http.StatusOK); strings.Contains(body, "plimsoll_interval") || !strings.Contains(body, "plimsoll_operations_total"+labels+`,outcome="success"} 2700`) {
		t.Errorf("between two loads:\n%s", body)
	}
	file.Close(true)
	unlock()
	if body, _ = s.get("/metrics", http.StatusOK); strings.Contains(body, "plimsoll_operations_total") {
		t.Errorf("after its end:\n%s", body)
	}
}

// A run that goes on after an interrupt has findings of the earlier session. Neither their verdict nor their effects are exposed.
func TestMetricsHaveNoVerdictBeforeTheEnd(t *testing.T) {
	for state, want := range map[history.State]bool{history.Running: false, history.Interrupted: false, history.Finished: true} {
		run := history.Run{ID: "x", Study: "s", State: state, Verdict: "better", Headlines: []history.Headline{{Metric: "iops", Arm: "knob=on", Ratio: 1.1}}}
		var out bytes.Buffer
		if err := exposition.Write(&out, metrics.Families([]history.Run{run}), false); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), `verdict="better"`) != want || strings.Contains(out.String(), "plimsoll_headline_ratio{") != want {
			t.Errorf("%s:\n%s", state, out.String())
		}
	}
}

// However many runs there are, and whatever they are called, the number of series is bounded.
func TestMetricsAreBounded(t *testing.T) {
	runs := make([]history.Run, 5000)
	for i := range runs {
		runs[i] = history.Run{ID: strconv.Itoa(i), Study: "s", State: history.Finished, Started: time.Unix(int64(i), 0), Headlines: make([]history.Headline, 12)}
		for j := range runs[i].Headlines {
			runs[i].Headlines[j].Metric = strconv.Itoa(j)
		}
	}
	for i := range mostMeters + 10 {
		runs[i].State, runs[i].Folder = history.Running, t.TempDir()
		file := events.NewFile(runs[i].Folder, "test")
		if err := file.Append([]byte(`{"time":"2026-01-02T03:04:05Z","load":{"from":0,"to":1,"operations":9,"p50":1,"p99":1}}` + "\n")); err != nil {
			t.Fatal(err)
		}
		file.Close(false)
	}
	var m meters
	defer m.close()
	var out bytes.Buffer
	if err := exposition.Write(&out, append(metrics.Families(runs), m.families(runs, time.Unix(1767323045, 0))...), true); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for line := range strings.Lines(out.String()) {
		count[strings.SplitN(line, "{", 2)[0]]++
	}
	if n := count["plimsoll_operations_total"]; n != 2*mostMeters || count["plimsoll_interval_p99_seconds"] != mostMeters {
		t.Errorf("%v", count)
	}
	if n := count["plimsoll_headline_ratio"]; n != 100*12*3 {
		t.Errorf("%d ratios", n)
	}
}
