package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/cmd/plimsoll/cli"
)

// exported is a finished run in a folder of its own.
func exported(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "r")
	run := exec.CommandContext(t.Context(), "plimsoll", "run", "tutorial-ab", "--seed", "7", "--out", dir, "--quiet", "--set", "measure.window=1s", "--set", "measure.warmup=250ms", "--set", "measure.interval=250ms", "--set", "measure.blocks=6")
	run.Env = append(os.Environ(), "XDG_STATE_HOME="+t.TempDir())
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

// send exports a run to a collector.
func send(t *testing.T, dir, address string, environment ...string) (status int, stdout, stderr string) {
	t.Helper()
	args := []string{"export", dir, "--to", "otlp"}
	if address != "" {
		args = append(args, "--out", address)
	}
	c := exec.CommandContext(t.Context(), "plimsoll", args...)
	var out, complaints strings.Builder
	c.Stdout, c.Stderr = &out, &complaints
	c.Env = append(os.Environ(), environment...)
	if err := c.Run(); c.ProcessState == nil {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), out.String(), complaints.String()
}

// The metrics of a run reach a collector; what it rejects, and what it says, is told.
func TestExportToACollector(t *testing.T) {
	dir := exported(t)
	var bodies []string
	answer := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, r.Header.Get("api-key")+" "+r.URL.Path+" "+string(body))
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	status, out, complaints := send(t, dir, "", "OTEL_EXPORTER_OTLP_ENDPOINT="+server.URL, "OTEL_EXPORTER_OTLP_HEADERS=api-key=k")
	if status != cli.ExitDone || len(bodies) != 1 || !strings.HasPrefix(bodies[0], "k /v1/metrics ") || !regexp.MustCompile(`^\d{3,} data points sent to http://127\.0\.0\.1:\d+/v1/metrics\n$`).MatchString(out) {
		t.Errorf("status %d, %d requests, %q, %s", status, len(bodies), out, complaints)
	}
	text := strings.TrimPrefix(bodies[0], "k /v1/metrics ")
	if !json.Valid([]byte(text)) {
		t.Error("no JSON")
	}
	for _, want := range []string{`"name":"plimsoll_run_info"`, `"name":"plimsoll_trials_total"`, `"name":"plimsoll_headline_ratio"`, `"name":"plimsoll_run_start_time_seconds"`, `"name":"plimsoll_trial_operations_per_second"`, `"stringValue":"tutorial-ab"`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %.2000s", want, text)
		}
	}
	for _, c := range []struct {
		address, answer, says string
		status                int
	}{
		{server.URL, `{"partialSuccess":{"rejectedDataPoints":"3","errorMessage":"too old \u001b[31m"}}`, `the collector rejected 3 of them: "too old \x1b[31m"`, cli.ExitTrouble},
		{server.URL, `{"partialSuccess":{"errorMessage":"deprecated"}}`, `the collector warns: "deprecated"`, cli.ExitDone},
		{server.URL, `<html>`, "is it the address of a collector's OTLP/HTTP receiver?", cli.ExitTrouble},
		{"", "", "no collector is named", cli.ExitMistake},
		{"otlp.json", "", `the collector is "otlp.json", not a URL`, cli.ExitMistake},
	} {
		answer = c.answer
		if status, _, says := send(t, dir, c.address, "OTEL_EXPORTER_OTLP_ENDPOINT="); status != c.status || !strings.Contains(says, c.says) {
			t.Errorf("%q %s: status %d, %s", c.address, c.answer, status, says)
		}
	}
	if status, _, says := send(t, t.TempDir(), server.URL); status != cli.ExitMistake || says == "" {
		t.Errorf("without results: status %d, %s", status, says)
	}
}

// A real OpenTelemetry Collector takes them all, with their names, labels and values.
func TestExportToARealCollector(t *testing.T) {
	program, err := filepath.Abs("../../bin/otelcol/otelcol")
	if _, missing := os.Stat(program); os.Getenv("PLIMSOLL_REAL") == "" || err != nil || missing != nil {
		t.Skip("needs PLIMSOLL_REAL=1, and the collector of ./setup deep")
	}
	dir := exported(t)
	address, log := startCollector(t, program)
	status, out, complaints := send(t, dir, "http://"+address)
	if status != cli.ExitDone {
		t.Fatalf("status %d, %s%s", status, out, complaints)
	}
	sent, _, _ := strings.Cut(out, " ")
	var text string
	for range 100 { // it prints what it has taken
		b, err := os.ReadFile(log)
		if text = string(b); err != nil || strings.Contains(text, "plimsoll_trial_") && strings.HasSuffix(text, "\n") && strings.Contains(text, `"data points": `+sent) {
			break
		}
		<-time.After(100 * time.Millisecond)
	}
	if !strings.Contains(text, `"data points": `+sent) {
		t.Errorf("%s of other data points than %s", text, sent)
	}
	for _, want := range []string{
		`service\.name: Str\(plimsoll\)`, `-> Name: plimsoll_run_info\n`, `-> DataType: Sum\n\s+-> IsMonotonic: true\n\s+-> AggregationTemporality: Cumulative\n`, `-> state: Str\(valid\)\n(.*\n){1,4}Value: 12\.0`,
		`-> Name: plimsoll_headline_ratio\n(.*\n){1,8}\s+-> metric: Str\(operations\)\n`, `-> Name: plimsoll_trial_p99_seconds\n(.*\n)?\s+-> Unit: s\n`, `-> arm: Str\(sim\.knob=on\)`,
	} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("the collector printed no %s", want)
		}
	}
	if t.Failed() {
		t.Logf("%.6000s", text)
	}
}

// startCollector starts a collector on loopback that prints what it takes to a file, and waits until it answers.
func startCollector(t *testing.T, program string) (address, log string) {
	t.Helper()
	dir := t.TempDir()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = free.Addr().String()
	free.Close()
	config := fmt.Sprintf(`receivers: {otlp: {protocols: {http: {endpoint: %s}}}}
exporters: {debug: {verbosity: detailed}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {metrics: {receivers: [otlp], exporters: [debug]}}
`, strconv.Quote(address))
	log = filepath.Join(dir, "log")
	out, err := os.Create(log)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(config), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	c := exec.CommandContext(t.Context(), program, "--config", filepath.Join(dir, "config.yaml"))
	c.Stdout, c.Stderr = out, out
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Wait() }) // the context of the test has ended
	for range 200 {
		if at, err := net.Dial("tcp", address); err == nil {
			at.Close()
			return address, log
		}
		<-time.After(50 * time.Millisecond)
	}
	text, _ := os.ReadFile(log)
	t.Fatalf("the collector does not listen: %s", text)
	return "", ""
}
