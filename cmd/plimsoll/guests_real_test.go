package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/effort"
	"plimsoll/internal/guest/guesttest"
	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/service"
	"plimsoll/internal/service/ceph"
)

const guestStudy = `study: guests
question: What do guests do on a cluster?
platform: {guest: {memory: 192MiB, accelerator: tcg, disk: 1200MiB, boot: 3m}}
factors: {guest.backing: [image]}
measure: {settle: 10ms, warmup: 1s, window: 4s, longest: 6s, interval: 500ms, blocks: 1, retries: 0}
margin: 90%
`

const twoGroups = `service: {ceph: {osds: 2, size: 4GiB}}
groups:
  writer: {workload: {storage: {size: 24MiB, block: 64KiB, read: 0%, random: 100%, depth: 4, precondition: zero}}}
  reader: {workload: {storage: {size: 24MiB, block: 16KiB, read: 100%, random: 100%, depth: 4, precondition: zero}}}
headline: [all.iops, all.p90]
`

// guestRig has a folder for guests whose name is short enough for sockets.
func guestRig(t *testing.T) (r *rig, guests string) {
	t.Helper()
	guesttest.Kernel(t)
	guesttest.Agent(t)
	if err := qemu.HasImages(t.Context()); err != nil {
		t.Skip(err)
	}
	if _, err := exec.LookPath("ceph-osd"); err != nil {
		t.Skip(err)
	}
	r = &rig{t: t, dir: t.TempDir()}
	guests, err := os.MkdirTemp("/tmp", "g-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(guests) })
	if err := os.Chmod(guests, 0o711); err != nil {
		t.Fatal(err)
	}
	return r, guests
}

// study writes the study of guests with more keys.
func (r *rig) study(more string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, "study.yaml"), []byte(guestStudy+more), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// inGuests is plimsoll with a folder for guests.
func (r *rig) inGuests(guests string, args ...string) *exec.Cmd {
	c := r.command(args...)
	self, err := os.Executable() // beside which the agent lies
	if err != nil {
		r.t.Fatal(err)
	}
	c.Path, c.Env = self, append(c.Env, "TMPDIR="+guests)
	return c
}

// Two guests with disks in a cluster and different jobs at once: both are in the record, and so are both together and the cluster.
func TestRealGuestsOnACluster(t *testing.T) {
	effort.Deep(t, "drive guests with disks in a cluster of their host")
	r, guests := guestRig(t)
	r.study(twoGroups)
	text, err := r.inGuests(guests, "run", "study.yaml", "--quiet", "--out", "out").CombinedOutput()
	t.Logf("%v: %s", err, text) // a neighbour may make a trial void, which has its values all the same
	if left := clusterProcesses(guests); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	if left, err := os.ReadDir(guests); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	var record measure.Record
	if text, err = os.ReadFile(filepath.Join(r.dir, "out", "trials", "0001", "record.json")); err == nil {
		err = json.Unmarshal(text, &record)
	}
	if err != nil || len(record.Parts) != 2 {
		t.Fatalf("%d parts, %v", len(record.Parts), err)
	}
	sum := record.Parts[0].Values["iops"] + record.Parts[1].Values["iops"]
	if v := record.Values; record.Void == "" && (math.Abs(v["all.iops"]/sum-1) > 1e-9 || v["all.write.iops"] <= 0 || v["all.read.iops"] <= 0 || v["all.p50"] <= 0) {
		t.Errorf("the parts did %g per second: %v", sum, v)
	}
	if record.Observed["guest.backing:writer"] != "image" && record.Observed["guest.backing"] != "image" {
		t.Errorf("observed %v", record.Observed)
	}
	// The cluster counts over the load, and the guest over the window, where it was read in that.
	if given, wrote := record.Counters["ceph.write_bytes"], record.Parts[0].Counters["disk.write.bytes"]; given <= 0 || wrote > 0 && (wrote/given < .2 || wrote/given > 5) {
		t.Errorf("the writer wrote %g bytes per second, and the cluster was given %g", wrote, given)
	}
	seen, err := os.ReadFile(filepath.Join(r.dir, "out", "trials", "0001", "machine.json"))
	if err != nil || !bytes.Contains(seen, []byte(`"reader: Disk":"image plimsoll-r2/plimsoll-`)) {
		t.Errorf("%s, %v", seen, err)
	}
}

// Of a run that is killed no QEMU is left. The images that it made in a cluster of another's are removed by restore.
func TestRealImagesOfAKilledRun(t *testing.T) {
	effort.Deep(t, "kill a run with images of a cluster")
	r, guests := guestRig(t)
	here, err := local.Kind().Open(t.Context(), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = here.Close() })
	s, err := ceph.Kind().New(parameter.Settings{"osds": "2", "size": "4GiB"})
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := s.Start(t.Context(), service.Env{Machine: here.Machine(), Dir: filepath.Join(guests, "theirs"), Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cluster.Stop(context.Background()) })
	at, err := cluster.Endpoint("rbd")
	if err != nil {
		t.Fatal(err)
	}
	client := func(program string, args ...string) string {
		t.Helper()
		out, err := exec.Command(program, append([]string{"--conf", at.Address}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v: %s", program, args, err, out)
		}
		return string(out)
	}
	client("ceph", "config", "set", "osd", "osd_client_watch_timeout", "3") // so that a killed client is forgotten soon
	client("rbd", "--pool", at.Database, "create", "--size", "1M", "theirs")
	r.study(fmt.Sprintf("service: {ceph: {address: %s, pool: %s}}\nworkload: {storage: {size: 24MiB, precondition: zero}}\n", at.Address, at.Database))
	c := r.inGuests(guests, "run", "study.yaml", "--out", "out", "--seed", "3", "--quiet")
	gone := make(chan error, 1)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { gone <- c.Wait() }()
	r.until(gone, "the guest has its image", func() bool { return clients(guests) == 1 })
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-gone
	limit := time.After(20 * time.Second)
	for clients(guests) > 0 {
		select {
		case <-limit:
			t.Fatalf("processes are left: %v", clusterProcesses(guests))
		case <-time.After(20 * time.Millisecond):
		}
	}
	if names := client("rbd", "--pool", at.Database, "ls"); strings.Count(names, "plimsoll-") != 1 {
		t.Errorf("the killed run left %q", names)
	}
	said, err := r.inGuests(guests, "restore", "out").CombinedOutput()
	if err != nil || !strings.Contains(string(said), "removed the disks of machines from the service ceph at "+at.Address) {
		t.Errorf("restore: %v: %s", err, said)
	}
	if names := client("rbd", "--pool", at.Database, "ls"); strings.TrimSpace(names) != "theirs" {
		t.Errorf("after restore the pool has %q", names)
	}
}

// clients is the number of QEMUs of guests with images.
func clients(guests string) (n int) {
	for _, argv := range clusterProcesses(guests) {
		if strings.Contains(argv, "qemu-system") && strings.Contains(argv, "driver=rbd") {
			n++
		}
	}
	return n
}
