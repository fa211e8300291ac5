package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
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
