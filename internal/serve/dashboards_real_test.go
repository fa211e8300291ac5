package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A Prometheus scrapes /metrics, and each query of the dashboards has an answer there.
func TestPrometheusAnswersTheDashboards(t *testing.T) {
	program, err := exec.LookPath("prometheus")
	if os.Getenv("PLIMSOLL_REAL") == "" || err != nil {
		t.Skip("needs PLIMSOLL_REAL=1 and prometheus")
	}
	s := everything(t)
	at := scraped(t, program, strings.TrimPrefix(s.url, "http://"))
	wait(t, at, `count_over_time(plimsoll_operations_total[1m]) > 2`) // a rate needs two samples
	with := strings.NewReplacer("$__rate_interval", "1m", "${study}", "tutorial-ab", "$study", "tutorial-ab", "$run", ".+", "$metric", s.metric(t))
	for name, text := range dashboards(t) {
		var b board
		b.read(t, text)
		for _, q := range b.queries() {
			query := with.Replace(q)
			if m := valuesOf.FindStringSubmatch(query); m != nil {
				query = m[1]
			}
			if name == "plimsoll-live.json" {
				query = strings.ReplaceAll(query, `"tutorial-ab"`, `"held"`)
			}
			if n, err := ask(t.Context(), at, query); err != nil || n == 0 {
				t.Errorf("%s: %s: %d series, %v", name, query, n, err)
			}
		}
	}
	if n, err := ask(t.Context(), at, `plimsoll_nothing`); n != 0 || err != nil {
		t.Errorf("of a metric that does not exist there are %d series, %v", n, err)
	}
	if _, err := ask(t.Context(), at, `sum by (`); err == nil {
		t.Error("a query that is none has an answer")
	}
}

// metric is a headline of the runs that are served.
func (s *site) metric(t *testing.T) string {
	t.Helper()
	var list runsView
	s.json("/?study=tutorial-ab", http.StatusOK, &list)
	if len(list.Runs) == 0 || len(list.Runs[0].Headlines) == 0 {
		t.Fatalf("%+v", list)
	}
	return list.Runs[0].Headlines[0].Metric
}

// scraped starts a Prometheus that scrapes an address, and returns its own.
func scraped(t *testing.T, program, target string) string {
	t.Helper()
	dir := t.TempDir()
	config := fmt.Sprintf("global: {scrape_interval: 1s}\nscrape_configs: [{job_name: plimsoll, static_configs: [{targets: [%q]}]}]\n", target)
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := free.Addr().String()
	free.Close()
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.CommandContext(t.Context(), program, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+at)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // the context of the test has ended
	return at
}

// wait waits until a query has an answer.
func wait(t *testing.T, at, query string) {
	t.Helper()
	var last error
	for range 300 {
		n, err := ask(t.Context(), at, query)
		if last = err; n > 0 {
			return
		}
		<-time.After(100 * time.Millisecond)
	}
	t.Fatalf("no answer to %s: %v", query, last)
}

// ask asks a Prometheus, and returns how many series it has.
func ask(ctx context.Context, at, query string) (series int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+"/api/v1/query?query="+url.QueryEscape(query), nil)
	if err != nil {
		return 0, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	var a struct {
		Error string
		Data  struct{ Result []json.RawMessage }
	}
	if err := json.NewDecoder(answer.Body).Decode(&a); err != nil {
		return 0, fmt.Errorf("status %d: %w", answer.StatusCode, err)
	}
	if a.Error != "" {
		return 0, fmt.Errorf("%s", a.Error)
	}
	return len(a.Data.Result), nil
}
