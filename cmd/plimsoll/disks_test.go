package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// processesBelow lists the processes that descend from one, with their command lines.
func processesBelow(t *testing.T, ancestor int) map[int]string {
	t.Helper()
	parents := map[int]int{}
	lines := map[int]string{}
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended meanwhile
		}
		// The name in brackets may hold anything; the state and the parent follow it.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		parents[pid], _ = strconv.Atoi(fields[1])
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		lines[pid] = string(line)
	}
	below := map[int]string{}
	for pid := range parents {
		for p := parents[pid]; p > 1; p = parents[p] {
			if p == ancestor {
				below[pid] = lines[pid]
			}
		}
	}
	return below
}

// fioIn lists the processes on the whole machine whose command line names fio and a folder.
func fioIn(t *testing.T, dir string) []int {
	t.Helper()
	var pids []int
	for pid, line := range processesBelow(t, 1) {
		if strings.HasPrefix(line, "fio\x00") && strings.Contains(line, dir) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// TestFioKilledInATrialVoidsIt shows that a fio which somebody kills costs one
// trial, whose record says why, and not the study.
func TestFioKilledInATrialVoidsIt(t *testing.T) {
	isReal(t, "load this machine with fio")
	if os.Geteuid() != 0 {
		t.Skip("only root may have fio open files beside the page cache")
	}
	t.Parallel()
	r := &rig{t: t, dir: t.TempDir()}
	if _, err := exec.LookPath("fio"); err != nil {
		t.Skip("fio is not installed")
	}
	c := r.command("run", "storage-aa", "--out", "out", "--seed", "3", "--quiet", "--blocks", "2",
		"--set", "storage.size=16MiB", "--set", "measure.window=1s", "--set", "measure.warmup=500ms", "--set", "measure.longest=2s", "--set", "measure.retries=100")
	var complaint strings.Builder
	c.Stderr = &complaint
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	go func() { gone <- c.Wait() }()
	r.until(gone, "a trial ended", func() bool { return len(r.ended("out")) > 0 })
	before := r.ended("out")
	victim := 0
	r.until(gone, "fio ran", func() bool {
		for pid, line := range processesBelow(t, c.Process.Pid) {
			if strings.HasPrefix(line, "fio\x00") && strings.Contains(line, filepath.Join(r.dir, "out")) {
				victim = pid
			}
		}
		return victim != 0
	})
	if err := syscall.Kill(victim, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-gone; err != nil {
		t.Fatalf("the study did not go on to its end: %v: %s", err, complaint.String())
	}
	after := r.ended("out")
	void := 0
	for number, text := range after {
		var record struct{ Void, Stderr string }
		if err := json.Unmarshal([]byte(text), &record); err != nil {
			t.Fatal(err)
		}
		if before[number] == "" && strings.Contains(record.Void, "fio") {
			void++
			if !strings.Contains(record.Void, "SIGKILL") {
				t.Errorf("trial %d does not say that fio was killed: %q", number, record.Void)
			}
		}
	}
	if void != 1 {
		t.Errorf("%d trials are void for fio, want the one whose fio was killed: %v", void, voids(t, after))
	}
	if len(after) < 5 {
		t.Errorf("%d trials ended, want the 4 of 2 blocks and the void one", len(after))
	}
	if pids := fioIn(t, r.dir); len(pids) > 0 {
		t.Errorf("fio is left over: %v", pids)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "out", "scratch")); err == nil {
		t.Error("the disks are left over")
	}
}

// voids is why trials are void, for a complaint.
func voids(t *testing.T, records map[int]string) []string {
	t.Helper()
	var all []string
	for number, text := range records {
		var record struct{ Void string }
		if err := json.Unmarshal([]byte(text), &record); err != nil {
			t.Fatal(err)
		}
		if record.Void != "" {
			all = append(all, fmt.Sprintf("%d: %s", number, record.Void))
		}
	}
	return all
}
