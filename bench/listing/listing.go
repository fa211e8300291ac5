// Package listing measures how long lists of many runs take, on the terminal and as a page.
package listing

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"plimsoll/bench/measured"
	"plimsoll/internal/collect"
	"plimsoll/internal/history/historytest"
)

// listedRuns is how many results folders are listed.
const listedRuns = 5000

// Runs is the time to list many runs, on the terminal and as a page.
func Runs() ([]measured.Result, error) {
	path, dir, err := measured.Binary()
	defer os.RemoveAll(dir)
	if err != nil {
		return nil, err
	}
	folder := filepath.Join(dir, "results")
	if err := madeUp(folder); err != nil {
		return nil, err
	}
	env := append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(dir, "cache"))
	var work []float64 // CPU time
	list := func() error {
		cmd := exec.Command(path, "runs", folder)
		cmd.Env = env
		err := cmd.Run()
		work = append(work, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds())
		return err
	}
	const first, again = 1, 11
	cold, err := measured.Median(first, list)
	if err != nil {
		return nil, err
	}
	warm, err := measured.Median(again, list)
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("%d runs on the terminal", listedRuns)
	results := []measured.Result{{What: what + ", without an index", Got: cold, Against: "limit", Limit: 10, Unit: "s"}, {What: what, Got: warm, Against: "limit", Limit: .2, Unit: "s"}, {What: what + ": CPU time", Got: measured.Middle(work[first:]), Against: "limit", Limit: .2, Unit: "s"}}
	pages, err := servedPages(path, folder, env)
	return append(results, pages...), err
}

// madeUp writes runs of some studies over some months.
func madeUp(folder string) error {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	bed := collect.TestbedRecord{{Name: "cpu.model", Value: "Made Up 9000"}, {Name: "cpu.threads", Value: "64"}, {Name: "kernel.release", Value: "6.1.0"}}
	verdicts := []string{"better", "worse", "equivalent", "not enough runs"}
	for n := range listedRuns {
		name := fmt.Sprintf("study-%02d-%05d", n%20, n)
		err := historytest.Write(historytest.Run{
			Dir: filepath.Join(folder, name), Study: name[:8], Question: "Does a second outstanding I/O per disk raise random-write IOPS?", Started: start.Add(time.Duration(n) * time.Hour), Trials: 36, Void: n % 3,
			Verdict: verdicts[n%len(verdicts)], Answer: "IOPS is 5.5 % higher with storage.threads=2 than with storage.threads=1.", Ratio: 1.055, Testbed: bed,
		})
		if err != nil {
			return err
		}
		old := time.Now().Add(-time.Hour)
		if err := errors.Join(os.Chtimes(filepath.Join(folder, name, "journal.jsonl"), old, old), os.Chtimes(filepath.Join(folder, name), old, old)); err != nil {
			return err
		}
	}
	return nil
}

// servedPages is the time of the list as a page, and what the server costs.
func servedPages(path, folder string, env []string) ([]measured.Result, error) {
	cmd := exec.Command(path, "serve", folder, "--listen", "127.0.0.1:0", "--json")
	cmd.Env = env
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	defer func() { _ = cmd.Process.Signal(syscall.SIGTERM); _ = cmd.Wait() }()
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	var at struct{ URL string }
	if err := json.Unmarshal(line, &at); err != nil {
		return nil, err
	}
	get := func() error {
		answer, err := http.Get(at.URL)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err == nil && !strings.Contains(string(body), fmt.Sprintf("%d of %d runs", listedRuns, listedRuns)) {
			err = fmt.Errorf("the page lacks runs: %.200s", body)
		}
		return err
	}
	const after, within = 5, 21
	var looked []float64
	for range after {
		time.Sleep(2500 * time.Millisecond) // until the list is looked at again
		took, err := measured.Median(1, get)
		if err != nil {
			return nil, err
		}
		looked = append(looked, took)
	}
	soon, err := measured.Median(within, get)
	if err != nil {
		return nil, err
	}
	memory, err := resident(cmd.Process.Pid)
	return []measured.Result{
		{What: fmt.Sprintf("page of %d runs, after a look at all folders", listedRuns), Got: measured.Middle(looked), Against: "limit", Limit: .2, Unit: "s"},
		{What: fmt.Sprintf("page of %d runs, within 2 s of such a look", listedRuns), Got: soon, Against: "limit", Limit: .05, Unit: "s"},
		{What: "memory of the server", Got: memory, Against: "limit", Limit: 150, Unit: "MB"},
	}, err
}

// resident is the memory of a process, in MB.
func resident(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if size, found := strings.CutPrefix(line, "VmRSS:"); found {
			kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(size), " kB"), 64)
			return kib / 1000 * 1.024, err
		}
	}
	return 0, errors.New("no VmRSS")
}
