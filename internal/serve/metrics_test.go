package serve

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/history/historytest"
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
		t.Errorf("promtool: %v, %s", err, out)
	}
}
