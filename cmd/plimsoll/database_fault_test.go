package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A database that is killed in the middle of a trial voids it, in one line that says so;
// the study goes on with a new one, and nothing of the old one is left.
func TestRealDatabaseIsKilled(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to start the real postgres")
	}
	dir, err := os.MkdirTemp("", "plimsoll-fault") // which the account nobody can enter
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	r := &rig{t: t, dir: dir}
	const text = `study: killed
question: Does it go on?
platform: local
workload:
  oltp: {rows: 2000, connections: 2, rate: 40/s, timeout: 500ms}
service: {postgresql: {shared_buffers: 16MiB}}
measure: {settle: 10ms, warmup: 100ms, window: 3s, longest: 4s, interval: 100ms, blocks: 1, retries: 3}
headline: [transactions]
`
	if err := os.WriteFile(filepath.Join(dir, "study.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	c := r.command("run", "study.yaml", "--out", "out", "--seed", "3", "--quiet")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	go func() { gone <- c.Wait() }()
	r.until(gone, "the tables were filled", func() bool {
		journal, _ := os.ReadFile(filepath.Join(dir, "out", "journal.jsonl"))
		return strings.Contains(string(journal), `"kind":"prepared"`)
	})
	<-time.After(time.Second)
	note, err := os.ReadFile(filepath.Join(dir, "out", "scratch", "service", "postgresql", "0", "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(note), "\n")
	pid, err := strconv.Atoi(lines[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-gone; err != nil {
		t.Errorf("the study ended with %v", err)
	}
	var first struct{ Void string }
	data, err := os.ReadFile(filepath.Join(dir, "out", "trials", "0001", "record.json"))
	if err == nil {
		err = json.Unmarshal(data, &first)
	}
	if err != nil || !strings.HasPrefix(first.Void, "service postgresql: postgres was ended by signal SIGKILL: ") || strings.Contains(first.Void, "\n") {
		t.Errorf("the trial is void because of %q, %v", first.Void, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "out", "trials", "0002", "record.json")); err != nil {
		t.Errorf("the study did not go on: %v", err)
	}
	table, err := os.ReadFile("/proc/sysvipc/shm")
	if err != nil {
		t.Fatal(err)
	}
	segment := strings.Join(strings.Fields(lines[6]), " ")
	for line := range strings.Lines(string(table)) {
		if strings.HasPrefix(strings.Join(strings.Fields(line), " "), segment+" ") {
			t.Errorf("its shared memory is left: %s", line)
		}
	}
}
