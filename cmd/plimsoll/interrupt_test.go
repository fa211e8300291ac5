package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/cmd/plimsoll/cli"
)

// finTimeout is a setting of the kernel that each network namespace has for itself.
const finTimeout = "/proc/sys/net/ipv4/tcp_fin_timeout"

// rig is a folder with a study that changes a setting of this host, for a contained test.
type rig struct {
	t      *testing.T
	dir    string
	former string
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, dir: t.TempDir(), former: kept(t, finTimeout)}
	number, err := strconv.Atoi(r.former)
	if err != nil {
		t.Fatal(err)
	}
	// Both levels differ from the former one, so that the moment of death does
	// not decide whether something is left to put back.
	text := fmt.Sprintf(`study: interrupted
question: Is everything put back?
platform: local
workload:
  "null": {threads: 1}
factors:
  host.sysctl:net.ipv4.tcp_fin_timeout: [%d, %d]
measure: {settle: 10ms, warmup: 200ms, window: 600ms, longest: 1s, interval: 200ms, blocks: 3, retries: 100}
headline: [operations]
`, number-1, number-2)
	if err := os.WriteFile(filepath.Join(r.dir, "study.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) setting() string { return value(r.t, finTimeout) }

// command is plimsoll as a process of its own, with a state folder of its own.
func (r *rig) command(args ...string) *exec.Cmd {
	c := exec.CommandContext(r.t.Context(), "plimsoll", args...)
	c.Dir = r.dir
	c.Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(r.dir, "state"))
	return c
}

// must runs plimsoll, which has to end with status 0, and returns what it printed.
func (r *rig) must(args ...string) string {
	r.t.Helper()
	var complaint bytes.Buffer
	c := r.command(args...)
	c.Stderr = &complaint
	out, err := c.Output()
	if err != nil {
		r.t.Fatalf("plimsoll %s: %v: %s", strings.Join(args, " "), err, complaint.String())
	}
	return string(out)
}

// ended returns the records of the trials that the journal calls ended, by
// number. None may have ended twice.
func (r *rig) ended(sub string) map[int]string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, sub, "journal.jsonl"))
	if err != nil {
		return nil // it has not begun
	}
	records := map[int]string{}
	for line := range strings.Lines(string(text)) {
		var e struct {
			Kind  string
			Trial int
		}
		if !strings.HasSuffix(line, "\n") || json.Unmarshal([]byte(line), &e) != nil || e.Kind != "trial ended" {
			continue
		}
		if _, twice := records[e.Trial]; twice {
			r.t.Errorf("trial %d ended twice", e.Trial)
		}
		record, err := os.ReadFile(filepath.Join(r.dir, sub, "trials", fmt.Sprintf("%04d", e.Trial), "record.json"))
		if err != nil {
			r.t.Fatal(err)
		}
		records[e.Trial] = string(record)
	}
	return records
}

// until waits for something that a process does, for as long as the process lives.
func (r *rig) until(gone <-chan error, what string, holds func() bool) {
	r.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case err := <-gone:
			r.t.Fatalf("plimsoll ended before %s: %v", what, err)
		case <-tick.C:
		}
	}
}

// killed runs the study into out and kills the lab once a condition holds.
func (r *rig) killed(what string, holds func() bool) {
	r.t.Helper()
	c := r.command("run", "study.yaml", "--out", "out", "--seed", "3", "--quiet")
	if err := c.Start(); err != nil {
		r.t.Fatal(err)
	}
	gone := make(chan error, 1)
	go func() { gone <- c.Wait() }()
	r.until(gone, what, holds)
	if err := c.Process.Signal(syscall.SIGKILL); err != nil {
		r.t.Fatal(err)
	}
	<-gone
}

// interrupt starts the study and sends a signal in the middle of a trial, after
// another has ended. It returns how plimsoll ended, and its complaint.
func (r *rig) interrupt(signal os.Signal) (*os.ProcessState, string) {
	r.t.Helper()
	c := r.command("run", "study.yaml", "--out", "out", "--seed", "3", "--quiet")
	var complaint bytes.Buffer
	c.Stderr = &complaint
	if err := c.Start(); err != nil {
		r.t.Fatal(err)
	}
	gone := make(chan error, 1)
	go func() { gone <- c.Wait() }()
	r.until(gone, "a trial ended", func() bool { return len(r.ended("out")) > 0 && r.setting() != r.former })
	if err := c.Process.Signal(signal); err != nil {
		r.t.Fatal(err)
	}
	<-gone
	return c.ProcessState, complaint.String()
}

// resumed goes on with the study and makes sure that nothing is lost, run twice
// or left behind.
func (r *rig) resumed(before map[int]string) {
	r.t.Helper()
	r.must("resume", "out")
	if got := r.setting(); got != r.former {
		r.t.Errorf("after resume tcp_fin_timeout is %s, not %s", got, r.former)
	}
	after := r.ended("out")
	if len(after) < 6 {
		r.t.Errorf("%d trials ended, want the 6 of 3 blocks", len(after))
	}
	for number := range len(after) {
		if after[number+1] == "" {
			r.t.Errorf("trial %d of %d has no record", number+1, len(after))
		}
	}
	for number, record := range before {
		if after[number] != record {
			r.t.Errorf("the record of trial %d changed", number)
		}
	}
	if _, err := os.Stat(filepath.Join(r.dir, "out", "report.html")); err != nil {
		r.t.Error(err)
	}
	if out := r.must("restore"); !strings.Contains(out, "nothing to restore") {
		r.t.Errorf("restore after the end: %s", out)
	}
}

func TestInterruptedRunPutsEverythingBackAndResumes(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			if !contained(t) {
				return
			}
			r := newRig(t)
			state, complaint := r.interrupt(signal)
			if by := map[syscall.Signal]string{syscall.SIGINT: "Ctrl-C", syscall.SIGTERM: "signal terminated"}[signal]; !strings.Contains(complaint, "stopped by "+by+"; to continue: plimsoll resume out") {
				t.Errorf("it says: %s", complaint)
			}
			if code := state.ExitCode(); code != cli.ExitTrouble {
				t.Errorf("ended with %s, want status %d", state, cli.ExitTrouble)
			}
			if got := r.setting(); got != r.former {
				t.Errorf("tcp_fin_timeout is %s, not %s", got, r.former)
			}
			if out := r.must("restore"); !strings.Contains(out, "nothing to restore") {
				t.Errorf("restore after a clean stop: %s", out)
			}
			r.resumed(r.ended("out"))
		})
	}
}

func TestKilledRunIsRestoredAndResumes(t *testing.T) {
	if !contained(t) {
		return
	}
	r := newRig(t)
	if state, _ := r.interrupt(os.Kill); state.Success() {
		t.Errorf("a killed run ended with %s", state)
	}
	if got := r.setting(); got == r.former {
		t.Fatal("the killed run left nothing to put back, so this shows nothing")
	}
	before := r.ended("out")
	if out := r.must("restore"); !strings.Contains(out, "host.sysctl:net.ipv4.tcp_fin_timeout") {
		t.Errorf("restore does not say what it put back: %s", out)
	}
	if got := r.setting(); got != r.former {
		t.Errorf("after restore tcp_fin_timeout is %s, not %s", got, r.former)
	}
	if out := r.must("restore"); strings.TrimSpace(out) != "nothing to restore" {
		t.Errorf("the second restore: %s", out)
	}
	r.resumed(before)
}

func TestKilledRunResumesWithoutRestore(t *testing.T) {
	if !contained(t) {
		return
	}
	r := newRig(t)
	r.interrupt(os.Kill)
	r.resumed(r.ended("out"))
}
