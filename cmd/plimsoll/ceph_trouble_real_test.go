package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tell sends a command to the cluster of a run below a folder, by its configuration or by the socket of a daemon.
func tell(t *testing.T, dir, file string, command ...string) {
	t.Helper()
	at := ""
	for _, argv := range clusterProcesses(dir) {
		if script := strings.Fields(argv); len(script) > 2 && filepath.Base(script[1]) == "start.sh" {
			at = filepath.Join(script[2], file)
		}
	}
	by := []string{"--conf", at}
	if strings.HasSuffix(file, ".asok") {
		by = []string{"--admin-daemon", at}
	}
	if out, err := exec.CommandContext(t.Context(), "ceph", append(by, command...)...).CombinedOutput(); err != nil {
		t.Errorf("ceph %s: %v, %s", command, err, out)
	}
}

// Errors of the device of an OSD void the trial with its name, although the client gets its data from another OSD. On a busy machine the command that
// injects them takes seconds.
func TestRealDeviceFailsReads(t *testing.T) {
	text := strings.NewReplacer("window: 4s, longest: 6s", "window: 15s, longest: 18s", "read: 0%", "read: 100%", "precondition: zero", "precondition: random", "size: 1GiB", "size: 1GiB, cache: 16MiB", "blocks: 2, retries: 1", "blocks: 1, retries: 0").Replace(imageFaultStudy)
	r := spoiled(t, text, func(dir string) {
		tell(t, dir, "osd.2.asok", "config", "set", "bluestore_debug_inject_csum_err_probability", "0.7")
	})
	if !strings.Contains(r.Void, "service ceph: osd.2 could not read from its device") {
		t.Errorf("void: %q", r.Void)
	}
}

// Writes to an OSD that is full wait for ever. The load is ended, and the trial is void with the name of the OSD and what to do. By a lower limit OSDs are
// full without so many writes.
func TestRealFullOSD(t *testing.T) {
	var full time.Time
	text := strings.NewReplacer("window: 4s, longest: 6s", "window: 40s, longest: 1m", "blocks: 2, retries: 1", "blocks: 1, retries: 0").Replace(imageFaultStudy)
	r := spoiled(t, text, func(dir string) {
		for _, ratio := range []string{"nearfull", "backfillfull", "full"} { // none is below the former
			tell(t, dir, "ceph.conf", "osd", "set-"+ratio+"-ratio", "0.01")
		}
		full = time.Now()
	})
	if !strings.Contains(r.Void, "full, and writes wait for space: raise ceph.size or ceph.osds") || !strings.Contains(r.Void, "service ceph: osd.") {
		t.Errorf("void: %q", r.Void)
	}
	if took := r.End.Sub(full); took > time.Minute {
		t.Errorf("the trial ended %s after an OSD was full", took)
	}
}
