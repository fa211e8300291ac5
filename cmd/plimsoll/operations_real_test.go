package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/effort"
	"plimsoll/internal/guest/guesttest"
	"plimsoll/internal/libvirt/libvirttest"
	"plimsoll/internal/live"
	"plimsoll/internal/live/libvirt/operation"
)

// On real hosts with libvirt, the domains and disks of a study that was killed in the middle of its
// load are removed, by the undo log and without it; those of somebody else stay.
func TestRealOperationsOnLibvirt(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to start libvirt daemons")
	}
	effort.Deep(t, "kill a study of operations")
	t.Parallel()
	pool, err := os.MkdirTemp("", "plimsoll-pool-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(pool) })
	names := []string{"alpha", "beta"}
	guesttest.Turn(t) // before the daemons start, which end where nobody connects
	daemons := libvirttest.HostsSharing(t, pool, names...)
	r := &rig{t: t, dir: t.TempDir()}
	list := "datastores: [" + libvirttest.Pool + "]\nhosts:\n"
	for i, d := range daemons {
		list += fmt.Sprintf("- {name: %s, uri: \"%s\", migration: tcp://127.0.0.1}\n", names[i], d.URI("qemu", "/session"))
	}
	url := "libvirt://" + filepath.Join(r.dir, "lab.yaml")
	text := `study: left
question: Is everything removed?
platform: local
workload:
  operations: {vms: 6, threads: 2, memory: 16MiB, disk: 1MiB, owner: killed, run_list: "power-on 2, power-off 1, suspend 1, create 1, clone 1, delete 2, migrate 1, snapshot 1, remove-snapshots 1, register 2"}
service: {live: {address: "` + url + `"}}
measure: {settle: 10ms, warmup: 1s, window: 60s, interval: 500ms, blocks: 3, retries: 100}
headline: [operations]
`
	for name, text := range map[string]string{"lab.yaml": list, "study.yaml": text} {
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at, err := live.ParseAddress(url)
	if err != nil {
		t.Fatal(err)
	}
	p, err := operation.Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	there := func() (vms, disks int) {
		s, err := p.Survey(t.Context(), "plimsoll-op-", "made by plimsoll, workload operations\nowner killed")
		if err != nil {
			t.Fatal(err)
		}
		files, err := os.ReadDir(pool)
		if err != nil {
			t.Fatal(err)
		}
		return len(s.VMs), len(files)
	}
	for _, command := range [][]string{{"restore", "out"}, {"restore", "--live", url, "--remove"}} {
		if err := os.RemoveAll(filepath.Join(r.dir, "out")); err != nil {
			t.Fatal(err)
		}
		r.killed("the load has created a VM", func() bool {
			disks, err := filepath.Glob(filepath.Join(pool, "plimsoll-op-*-1*")) // others have base in their names
			return err == nil && len(disks) > 0
		})
		if vms, disks := there(); vms < 4 || disks < 6 { // two threads may be registering VMs
			t.Fatalf("the run was killed, and %d VMs with %d disks are left", vms, disks)
		}
		said := r.must(command...)
		if vms, disks := there(); vms != 0 || disks != 0 || !strings.Contains(said, "removed") {
			t.Errorf("after %q, which said %q, %d VMs and %d disks are left", command, said, vms, disks)
		}
	}
}
