package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"plimsoll/internal/finding"
	"plimsoll/internal/guest/guesttest"
	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/trace"
)

// hog keeps the CPUs busy until the test ends, with two processes for each that the test may use. With a nice value they take only what
// others leave.
func hog(t *testing.T, nice string) {
	t.Helper()
	for range 2 * runtime.NumCPU() {
		cmd := exec.CommandContext(t.Context(), "nice", "-n", nice, "timeout", "300", "sh", "-c", "while :; do :; done")
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it may have ended
			_ = cmd.Wait()
		})
	}
}

// A guest whose host is busy with something else gets that as the explanation of its limit, and the
// report shows the CPUs of both.
func TestRealHostOfAGuestIsJudged(t *testing.T) {
	guesttest.Kernel(t)
	guesttest.Agent(t)
	r := &rig{t: t, dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(r.dir, "study.yaml"), []byte(`study: beside-a-hog
question: What holds a guest back that computes?
platform: {guest: {memory: 128MiB, accelerator: tcg, disk: 64MiB, boot: 3m}}
workload: {processor: {working_set: 64KiB, unit: 1KiB}}
measure: {settle: 10ms, warmup: 1s, window: 8s, longest: 10s, interval: 500ms, blocks: 1, retries: 0}
headline: [units]
`), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable() // beside which the agent lies
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	run, gone := r.command("run", "study.yaml", "--quiet", "--out", "out"), make(chan error, 1)
	run.Path, run.Stdout, run.Stderr = self, &said, &said
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { gone <- run.Wait() }()
	r.until(gone, "its workload was prepared", func() bool { // the guest boots before that, which takes long beside others
		text, err := os.ReadFile(filepath.Join(r.dir, "out", "journal.jsonl"))
		return err == nil && bytes.Contains(text, []byte(`"prepared"`))
	})
	hog(t, "0")
	err = <-gone
	t.Logf("%v: %s", err, said.Bytes()) // a neighbour may make the only trial void, which is judged all the same
	read := func(name string) []byte {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(r.dir, "out", name))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	var f finding.Findings
	if err := json.Unmarshal(read("findings.json"), &f); err != nil {
		t.Fatal(err)
	}
	waits := func(e finding.Explanation) bool { // cpu_affinity where this test may not use all CPUs
		return slices.Contains([]string{"ready_time", "cpu_affinity"}, e.Rule) && strings.HasPrefix(e.Text, "On the host: ")
	}
	for _, e := range f.Explanations {
		t.Logf("%s: %s", e.Rule, e.Text)
	}
	if !slices.ContainsFunc(f.Explanations, waits) {
		t.Errorf("explanations %+v; not judged %q", f.Explanations, f.NotJudged)
	}
	for _, claim := range f.Audit {
		if !claim.Holds {
			t.Errorf("%q: %s", claim.Sentence, claim.Fault)
		}
	}
	host, err := trace.Decode(read("trials/0001/host-host.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(host.Guests) != 1 || !slices.ContainsFunc(host.Mean.Processes, func(p hoststat.Process) bool { return p.PID == host.Guests[0] && strings.HasPrefix(p.Name, "qemu") }) {
		t.Errorf("the guests are %v", host.Guests)
	}
	if !bytes.Contains(read("report.html"), []byte("On the host: ")) {
		t.Error("the report does not show the host")
	}
}
