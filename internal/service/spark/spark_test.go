package spark

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
	engine "plimsoll/internal/spark"
)

func TestSettingsThatMakeNoSense(t *testing.T) {
	for _, c := range []struct {
		settings parameter.Settings
		want     string
	}{
		{parameter.Settings{"address": "/run/socket", "web": "h:8080"}, "must be host:port"},
		{parameter.Settings{"address": "h:7077"}, `web "": must be host:port, the address of the master's web interface, such as h:8080`},
		{parameter.Settings{"web": "h:8080"}, "web requires address"},
		{parameter.Settings{"address": "h:7077", "web": "h:8080", "workers": "3"}, "workers cannot be set on a server you provide"},
		{parameter.Settings{"memory": "300MiB"}, "at least 512MiB"},
		{parameter.Settings{"memory": "943718401B"}, "must be whole MiB"},
		{parameter.Settings{"workers": "0"}, "at least 1"},
	} {
		if _, err := Kind().New(c.settings); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v gives %v, want %q", c.settings, err, c.want)
		}
	}
	s, err := Kind().New(parameter.Settings{"address": "spark://h:7077", "web": "h:8080"})
	if err != nil {
		t.Fatal(err)
	}
	if e := s.(*service.Existing).Endpoint; e.Address != "h:7077" || e.URL != "http://h:8080" {
		t.Errorf("the endpoint is %+v", e)
	}
}

// host is a machine with PySpark, Java and memory, or without.
type host struct {
	platform.Machine
	said, memory string
}

func (h host) Name() string { return "here" }

func (h host) Run(context.Context, platform.Command) (platform.Result, error) {
	return platform.Result{Stdout: []byte(h.said)}, nil
}

func (h host) ReadFile(context.Context, string) ([]byte, error) {
	return []byte("MemTotal: " + h.memory + " kB\n"), nil
}

const installed = "home=/c\nspark=/c/pyspark\nversion=3.5.9\nnumpy=yes\npython=/c/bin/python\njava=17.0.15 /usr/bin/java\n"

func TestCheckNamesWhatIsLacking(t *testing.T) {
	for _, c := range []struct {
		host host
		want string
	}{
		{host{said: "home=/c\n"}, "PySpark 3.5.9 is not in /c: python3 -m venv /c && /c/bin/pip install pyspark==3.5.9"},
		{host{said: strings.Replace(installed, "17.0.15", "21.0.1", 1)}, "/usr/bin/java is Java 21.0.1, but Spark 3.5.9 needs Java 17, 11 or 8"},
		{host{said: installed, memory: "1048576"}, "workers 2 with memory 900MiB take about 2.80GiB, but this machine has 1.00GiB: lower memory or workers"},
		{host{said: installed, memory: "8388608"}, ""},
	} {
		s, err := Kind().New(nil)
		if err != nil {
			t.Fatal(err)
		}
		needs, err := s.Check(t.Context(), service.Env{Machine: c.host})
		if c.want == "" && (err != nil || needs.Versions["java"] != "17.0.15" || needs.Versions["spark"] != "3.5.9") || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %+v, %v", c.host, needs, err)
		}
	}
}

func TestCounters(t *testing.T) {
	stat := func(cpu ...int) string {
		return fmt.Sprintf("7 (java) S 1 1 1 0 -1 0 0 0 0 0 %d %d %d %d 20 0", cpu[0], cpu[1], cpu[2], cpu[3])
	}
	counts := map[string]float64{}
	add(counts, "process other "+stat(100, 50, 10, 10)+"\nprocess worker "+stat(100, 0, 300, 100)+"\nprocess executor "+stat(700, 50, 1, 0)+"\nprocess executor torn\n"+
		"counter jvmGCTime 1700000000,250\ncounter jvmGCTime 1700000000,750\ncounter jvmGCTime t,count\ncounter shuffleBytesWritten 1,4096\ncounter unknown 1,1\n")
	want := map[string]float64{
		"spark.cpu": 1.5 + 1 + 4 + 7.5, "spark.executor.cpu": 4 + 7.5, "spark.executors": 1, "spark.gc": 1,
		"spark.shuffle_written": 4096, "spark.shuffle_read": 0, "spark.spilled": 0, "spark.spilled_memory": 0,
	}
	for name, v := range want {
		if math.Abs(counts[name]-v) > 1e-9 {
			t.Errorf("%s is %g, want %g", name, counts[name], v)
		}
	}
	for name := range counts {
		if _, known := want[name]; !known {
			t.Errorf("%s was not expected", name)
		}
	}
}

func FuzzCounters(f *testing.F) {
	f.Add("process worker 7 (java) S 1 1 1 0 -1 0 0 0 0 0 1 2 3 4 20 0\ncounter jvmGCTime 1,2\n")
	f.Fuzz(func(t *testing.T, said string) {
		counts := map[string]float64{}
		add(counts, said)
		for name, v := range counts {
			if v < 0 || math.IsNaN(v) {
				t.Errorf("%s is %g", name, v)
			}
		}
	})
}

// page is a master's web interface.
func page(t *testing.T, status *string) service.Service {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			_, _ = w.Write([]byte(`<span class="version">3.5.1</span>`))
			return
		}
		_, _ = w.Write([]byte(*status))
	}))
	t.Cleanup(server.Close)
	s, err := Kind().New(parameter.Settings{"address": "h:7077", "web": server.Listener.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const two = `{"url":"spark://h:7077","status":"ALIVE","workers":[{"state":"ALIVE","cores":2,"memory":1024},{"state":"ALIVE","cores":2,"memory":900},{"state":"DEAD","cores":1}],"activeapps":[{"name":"a"}]}`

func TestMasterYouProvide(t *testing.T) {
	status := two
	s := page(t, &status)
	i, err := s.Start(t.Context(), service.Env{})
	if err != nil {
		t.Fatal(err)
	}
	seen, err := i.Observed(t.Context())
	if err != nil || seen["workers"] != "2" || seen["cores"] != "2" || seen["address"] != "h:7077" {
		t.Errorf("observed %v, %v", seen, err)
	}
	if _, told := seen["memory"]; told {
		t.Error("workers that differ have one memory")
	}
	if counts, err := i.Counters(t.Context()); err != nil || counts["spark.workers"] != 2 || counts["spark.applications"] != 1 {
		t.Errorf("counters %v, %v", counts, err)
	}
	if busy, known, err := i.(service.Settling).Unsettled(t.Context()); busy != "1 applications running" || !known || err != nil {
		t.Errorf("unsettled: %q, %v, %v", busy, known, err)
	}
	for text, want := range map[string]string{
		strings.ReplaceAll(two, "ALIVE\",\"cores", "DEAD\",\"cores"): "has no worker",
		strings.Replace(two, "h:7077", "other:1", 1):                 "has the address spark://other:1, not spark://h:7077",
		"<html>": "is no web interface of a Spark master",
	} {
		status = text
		if _, err := s.Check(t.Context(), service.Env{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A cluster that has lost a worker is in trouble; one whose master does not answer in time is not.
func TestLostWorker(t *testing.T) {
	status := two
	e := page(t, &status).(*service.Existing).Endpoint
	c := cluster{at: e, workers: 2, dir: "/d"}
	if err := errors.Join(c.ready(t.Context()), c.live().Trouble(t.Context())); err != nil {
		t.Errorf("a whole cluster: %v", err)
	}
	c.workers = 3
	if err := c.live().Trouble(t.Context()); err == nil || err.Error() != "the master has lost 1 of 3 workers" {
		t.Errorf("a worker is missing: %v", err)
	}
	if err := c.ready(t.Context()); err == nil || !strings.Contains(err.Error(), "2 of 3 workers have registered") {
		t.Errorf("a worker has not registered: %v", err)
	}
	c.at.Address = "h:1"
	if err := c.ready(t.Context()); err == nil || !strings.Contains(err.Error(), "another master") {
		t.Errorf("another master: %v", err)
	}
}

func TestDaemon(t *testing.T) {
	s := defaults()
	d := s.daemon(nil, service.Location{Host: service.Loopback, Dir: "/d", Ports: []int{7077, 8080}}, "/j/bin/java")
	if got, want := strings.Join(d.Argv, " "), "sh /d/start.sh /j/bin/java /d 127.0.0.1 7077 8080 2 1 900"; got != want {
		t.Errorf("it starts %s, want %s", got, want)
	}
	files := map[string]string{}
	for name, data := range d.Files {
		files[name] = string(data)
	}
	if !strings.Contains(files["conf/metrics.properties"], "directory=/d/counters\n") || files["start.sh"] != starter {
		t.Errorf("the files are %v", files)
	}
}

func TestObservedOfNoWorkers(t *testing.T) {
	if seen := observed(engine.Status{}); seen["workers"] != "0" || len(seen) != 1 {
		t.Errorf("%v", seen)
	}
}

// The starter tells which of its processes ended, and the reason from its log.
func TestStarterTellsWhatEnded(t *testing.T) {
	m := local1(t)
	for name, c := range map[string]struct{ java, want string }{
		"port":   {`case "$*" in *Master*) echo "Exception in thread main java.net.BindException: Address already in use: bind"; exit 1;; esac; exec sleep 30`, "Address already in use"},
		"worker": {`case "$*" in *Worker*--memory*) kill -KILL $$;; esac; exec sleep 30`, "worker 1 of 2 ended with signal 9"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			java := filepath.Join(dir, "java")
			if err := os.WriteFile(java, []byte("#!/bin/sh\n"+c.java+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			r, err := m.Run(t.Context(), platform.Command{Argv: []string{"sh", "-c", starter, "sh", java, dir, "127.0.0.1", "1", "2", "2", "1", "900"}})
			if err != nil || r.Exit != 1 || !strings.Contains(string(r.Stderr), c.want) {
				t.Errorf("%d, %s, %v; want %q", r.Exit, r.Stderr, err, c.want)
			}
		})
	}
}
