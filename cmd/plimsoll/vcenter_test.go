package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/vsphere/sim/state"
)

// The simulator says when it is ready, and leaves nothing behind when it is stopped.
func TestVcenterServesUntilItIsStopped(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "plimsoll", "vcenter", "--hosts", "2", "--vms", "4", "--listen", "127.0.0.1:0", "--json")
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var ready struct {
		URL    string `json:"url"`
		SHA256 string `json:"thumbprint_sha256"`
		Hosts  int    `json:"hosts"`
		VMs    int    `json:"vms"`
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatalf("%v: %s", err, complaints.String())
	}
	if err := json.Unmarshal(line, &ready); err != nil || !strings.HasPrefix(ready.URL, "https://127.0.0.1:") || len(ready.SHA256) != 95 || ready.Hosts != 2 || ready.VMs != 4 {
		t.Errorf("%v: %s", err, line)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, complaints.String())
	}
	if said := complaints.String(); !strings.Contains(said, "stopped by Ctrl-C") || strings.Contains(said, "putting back") {
		t.Errorf("it says %q", said)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// What is saved when the simulator is stopped is served when it is loaded.
func TestVcenterSavesAndLoads(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lab.state")
	serve := func(args ...string) (hosts, vms int) {
		cmd := exec.CommandContext(t.Context(), "plimsoll", append([]string{"vcenter", "--listen", "127.0.0.1:0", "--json"}, args...)...)
		var complaints strings.Builder
		cmd.Stderr = &complaints
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var ready struct{ Hosts, VMs int }
		line, err := bufio.NewReader(out).ReadBytes('\n')
		if err != nil || json.Unmarshal(line, &ready) != nil {
			t.Fatalf("%v: %s %s", err, line, complaints.String())
		}
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, complaints.String())
		}
		return ready.Hosts, ready.VMs
	}
	serve("--hosts", "2", "--vms", "5", "--save", file)
	if hosts, vms := serve("--load", file, "--save", file); hosts != 2 || vms != 5 {
		t.Errorf("loaded are %d hosts and %d VMs", hosts, vms)
	}
	if list, err := os.ReadDir(filepath.Dir(file)); err != nil || len(list) != 1 {
		t.Errorf("left are %v, %v", list, err)
	}
}

// A state that is saved from time to time outlives kill -9.
func TestVcenterSavesWhileItServes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lab.state")
	cmd := exec.CommandContext(t.Context(), "plimsoll", "vcenter", "--listen", "127.0.0.1:0", "--hosts", "2", "--vms", "5", "--save", file, "--save-every", "1s")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	for saved := false; !saved; {
		_, err := os.Stat(file)
		saved = err == nil
		select {
		case <-time.After(20 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatal("no state is saved")
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	from, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	if _, err := state.Read(from); err != nil {
		t.Error(err)
	}
}

// Without speed, lines on standard input move the time on.
func TestVcenterStepsTheTime(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "plimsoll", "vcenter", "--hosts", "2", "--vms", "4", "--listen", "127.0.0.1:0", "--plain", "--json", "--speed", "0", "--drs", "fullyAutomated")
	var complaints strings.Builder
	cmd.Stderr = &complaints
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() { // ready
		t.Fatal(complaints.String())
	}
	var times []time.Time
	for _, step := range []string{"1s", "nonsense\n1h", "24h"} {
		if _, err := io.WriteString(in, step+"\n"); err != nil {
			t.Fatal(err)
		}
		if !lines.Scan() {
			t.Fatal(complaints.String())
		}
		at, err := time.Parse(time.RFC3339, lines.Text())
		if err != nil {
			t.Fatal(err)
		}
		times = append(times, at)
	}
	if times[1].Sub(times[0]) != time.Hour || times[2].Sub(times[1]) != 24*time.Hour {
		t.Errorf("the time went on to %v", times)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(complaints.String(), "nonsense") {
		t.Errorf("%v: %s", err, complaints.String())
	}
}
