package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/hosttest"
	"plimsoll/internal/platform"
)

// A load that the kernel kills for lack of memory makes its trials void with that as the cause, and the host is put back.
func TestOutOfMemory(t *testing.T) {
	if !contained(t) {
		return
	}
	if _, err := exec.LookPath("fio"); err != nil {
		t.Skip(err)
	}
	l := newLab(t)
	group := memoryGroup(t)
	sh(t, "mkdir -m 700 /var/lib/plimsoll/undo")
	host := hosttest.Watch(t, l.dir)
	l.write("study.yaml", `study: memory
question: Is the host put back where fio runs out of memory?
platform: local
workload: {storage: {size: 16MiB, block: 4MiB, depth: 256, engine: libaio, read: 0%, random: 100%, precondition: none, direct: false}}
factors:
  host.sysctl:net.ipv4.tcp_fin_timeout: [20, 30]
measure: {settle: 10ms, warmup: 100ms, window: 600ms, longest: 2s, interval: 100ms, blocks: 1, retries: 0}
headline: [iops]
`)
	c := l.command("run", "study.yaml", "--out", "out")
	c.Args = append([]string{"sh", "-c", `echo $$ >"$0/cgroup.procs" && exec "$@"`, group}, c.Args...)
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	c.Path = shell
	said, err := c.CombinedOutput()
	if want := "void: fio was ended by signal SIGKILL: the machine or its control group ran out of memory (OOM killer)"; err == nil || !strings.Contains(string(said), want) {
		t.Errorf("%v, it does not say %q: %s", err, want, said)
	}
	host.Unchanged(t)
	if said := l.plimsoll(0, "restore"); !strings.Contains(said, "nothing to restore") {
		t.Error(said)
	}
}

// memoryGroup makes a control group with a limit of memory that holds the lab and not what fio will ask for.
func memoryGroup(t *testing.T) string {
	t.Helper()
	mountinfo, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	membership, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	found, err := platform.FindControlGroup(mountinfo, membership, "memory")
	if err != nil {
		t.Skip(err)
	}
	dir, err := os.MkdirTemp(found.Folder, "memory-")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	})
	for _, name := range []string{"memory.max", "memory.limit_in_bytes"} {
		if err = os.WriteFile(filepath.Join(dir, name), []byte("300M"), 0); err == nil {
			return dir
		}
	}
	t.Skip(err)
	return ""
}
