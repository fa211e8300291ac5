package imported

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// program skips a test where a program is missing.
func program(t *testing.T, name string) string {
	t.Helper()
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("PLIMSOLL_REAL is not set")
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is missing", name)
	}
	return path
}

// printed runs a program and returns a file with its standard output.
func printed(t *testing.T, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program(t, name), args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, text)
	}
	return file(t, filepath.Base(name)+".txt", string(text))
}

// port is a free one on loopback.
func port(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
}

// serve starts a server until the end of the test, and waits until it answers.
func serve(t *testing.T, at, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(program(t, name), args...)
	cmd.Dir = t.TempDir()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Log(err)
		}
		_ = cmd.Wait() // it was killed
	})
	deadline := time.Now().Add(10 * time.Second)
	for !listening(t, at) {
		if time.Now().After(deadline) {
			t.Fatalf("%s does not listen on port %s", name, at)
		}
	}
}

// listening reports whether a port of TCP is open, without a connection: iperf3 takes one for a client, and is busy with it for a while.
func listening(t *testing.T, port string) bool {
	t.Helper()
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	const listen = "0A" // the state
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(table)
		if err != nil && table == "/proc/net/tcp" {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) > 3 && strings.HasSuffix(f[1], fmt.Sprintf(":%04X", n)) && f[3] == listen {
				return true
			}
		}
	}
	return false
}

// holds checks that a run has the metrics, above 0.
func holds(t *testing.T, path string, metrics ...string) *Results {
	t.Helper()
	in, err := Import(path)
	if err != nil {
		text, _ := os.ReadFile(path) // for the message alone
		t.Fatalf("%v\n%s", err, text)
	}
	for _, m := range metrics {
		if !(in.Records[0].Values[m] > 0) {
			t.Errorf("%s: no %s in %v", path, m, in.Records[0].Values)
		}
	}
	return in
}

func TestRealRedisBenchmark(t *testing.T) {
	at := port(t)
	serve(t, at, "redis-server", "--port", at, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no")
	run := []string{"-h", "127.0.0.1", "-p", at, "-n", "20000", "-t", "set,get"}
	in := holds(t, printed(t, "redis-benchmark", run...), "set.operations", "set.p99", "get.mean")
	if in.Records[0].Counts["set.operations"] != 20000 {
		t.Errorf("counts %v", in.Records[0].Counts)
	}
	holds(t, printed(t, "redis-benchmark", append(run, "--csv")...), "set.operations", "get.p99")
	holds(t, printed(t, "redis-benchmark", append(run, "-q")...), "set.operations", "get.p50")
}

func TestRealSysbench(t *testing.T) {
	holds(t, printed(t, "sysbench", "cpu", "--time=1", "run"), "events", "p95", "mean")
	holds(t, printed(t, "sysbench", "cpu", "--time=1", "--histogram", "run"), "events", "p90")
	holds(t, printed(t, "sysbench", "memory", "--time=1", "run"), "events", "throughput")
}

func TestRealIperf3(t *testing.T) {
	at := port(t)
	serve(t, at, "iperf3", "-s", "-p", at)
	in := holds(t, printed(t, "iperf3", "-c", "127.0.0.1", "-p", at, "-J", "-t", "1", "-O", "1"), "throughput", "sent", "client.cpu")
	if w := in.Records[0].Window; w.Cut != 1 || w.End != 2 {
		t.Errorf("window %+v", w)
	}
	holds(t, printed(t, "iperf3", "-c", "127.0.0.1", "-p", at, "-J", "-t", "1", "-u", "-b", "10M"), "throughput", "jitter")
}

func TestRealWrk(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer s.Close()
	in := holds(t, printed(t, "wrk", "-t", "1", "-c", "2", "-d", "1s", "--latency", s.URL), "requests", "p50", "p90", "mean", "throughput")
	if in.Records[0].Counts["errors"] != 0 {
		t.Errorf("counts %v", in.Records[0].Counts)
	}
	failing := holds(t, printed(t, "wrk", "-t", "1", "-c", "2", "-d", "1s", s.URL+"/missing"), "requests", "errors")
	if c := failing.Records[0].Counts; c["operations"] != 0 || c["errors"] == 0 {
		t.Errorf("counts %v", c)
	}
}

func TestRealSysstat(t *testing.T) {
	go func() { // an idle machine has no busy CPU to read
		for t.Context().Err() == nil {
		}
	}()
	holds(t, printed(t, "mpstat", "-o", "JSON", "1", "1"), "sysstat.cpu.busy")
	holds(t, printed(t, "iostat", "-o", "JSON", "-x", "-y", "1", "1"), "sysstat.cpu.busy")
}

func TestRealPerf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perf.txt")
	printed(t, "perf", "stat", "-o", path, "-e", "task-clock,context-switches,page-faults", "sleep", "0.5")
	holds(t, path, "perf.page-faults")
}

func TestRealPgbench(t *testing.T) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		t.Skip("PostgreSQL is missing")
	}
	program(t, found[0])
	bin, at, dir := filepath.Dir(found[0]), port(t), t.TempDir()
	as := func(args ...string) []string { return args }
	if os.Geteuid() == 0 { // initdb and postgres refuse to run as root
		as = func(args ...string) []string { return append([]string{"runuser", "-u", "nobody", "--"}, args...) }
		for d := dir; d != "/" && d != os.TempDir(); d = filepath.Dir(d) {
			if err := os.Chmod(d, 0o777); err != nil {
				t.Fatal(err)
			}
		}
	}
	data := filepath.Join(dir, "data")
	run := func(args ...string) string { all := as(args...); return printed(t, all[0], all[1:]...) }
	run(filepath.Join(bin, "initdb"), "-D", data, "-U", "bench", "-A", "trust", "--no-sync")
	all := as(filepath.Join(bin, "postgres"), "-D", data, "-p", at, "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off")
	serve(t, at, all[0], all[1:]...)
	to := []string{"-h", "127.0.0.1", "-p", at, "-U", "bench", "postgres"}
	pgbench := filepath.Join(bin, "pgbench")
	ready(t, as(append([]string{filepath.Join(bin, "pg_isready")}, to[:4]...)...))
	run(append([]string{pgbench, "-i", "-q"}, to...)...)
	in := holds(t, run(append([]string{pgbench, "-c", "2", "-T", "1", "-P", "1", "-l", "--log-prefix", filepath.Join(dir, "log")}, to...)...), "transactions", "mean")
	if in.Records[0].Levels["pgbench.clients"] != "2" || !strings.HasPrefix(in.Tools[0], "pgbench 1") {
		t.Errorf("%q with %v", in.Tools, in.Records[0].Levels)
	}
	logs, err := filepath.Glob(filepath.Join(dir, "log.*"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("logs %q, %v", logs, err)
	}
	logged := holds(t, logs[0], "transactions", "p50", "p90")
	if n, want := logged.Records[0].Counts["operations"], in.Records[0].Counts["operations"]; n != want {
		t.Errorf("%d transactions in the log, %d in the report", n, want)
	}
	if mean, want := logged.Records[0].Values["mean"], in.Records[0].Values["mean"]; mean < .98*want || mean > 1.02*want {
		t.Errorf("mean %v in the log, %v in the report", mean, want)
	}
}

// ready waits until PostgreSQL accepts connections.
func ready(t *testing.T, command []string) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for exec.Command(command[0], command[1:]...).Run() != nil {
		if time.Now().After(deadline) {
			t.Fatal("PostgreSQL does not answer")
		}
	}
}
