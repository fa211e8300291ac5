package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/load"
	"plimsoll/internal/vsphere/operation"
)

// VMs of a study that was killed are removed from the vCenter, and no others.
func liveOperations(t *testing.T) {
	v := newVCenter(t)
	r := &rig{t: t, dir: t.TempDir()}
	password := filepath.Join(r.dir, "password")
	if err := os.WriteFile(password, []byte("of-the-test"), 0o600); err != nil {
		t.Fatal(err)
	}
	at := load.Endpoint{Network: "tcp", Address: v.listen, User: "operator", Secret: "file:" + password, Thumbprint: v.server.Thumbprints().SHA256}
	p, err := operation.Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	made := func() int {
		s, err := p.Survey(t.Context(), "plimsoll-op-", "made by plimsoll, workload operations\nowner killed")
		if err != nil {
			t.Fatal(err)
		}
		return len(s.VMs)
	}
	text := `study: left
question: Is everything removed?
platform: local
workload:
  operations: {vms: 8, threads: 2, owner: killed, rate: 50/s}
service: {vcenter: {address: "` + at.Address + `", user: operator, password: "` + at.Secret + `", thumbprint: "` + at.Thumbprint + `"}}
measure: {settle: 10ms, warmup: 100ms, window: 5s, interval: 100ms, blocks: 3, retries: 100}
headline: [operations]
`
	if err := os.WriteFile(filepath.Join(r.dir, "study.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	url := "vsphere://operator@" + at.Address + "/?password=" + at.Secret + "&thumbprint=" + at.Thumbprint
	before := len(v.layout())
	kill := func() {
		r.killed("the VMs were created", func() bool {
			if made() != 8 {
				return false
			}
			if said := r.must("restore", "--live", url, "--remove"); strings.Count(said, ": running\n") != 8 || strings.Contains(said, "removed") || made() != 8 {
				t.Errorf("of VMs of a lab that runs, restore says %q, and %d are there", said, made())
			}
			return true
		})
		if made() != 8 {
			t.Fatalf("the run was killed, and %d VMs are left", made())
		}
	}
	kill()
	said := r.must("restore", "out")
	if want := "removed the data of workload operations from the service vcenter at " + at.Address; !strings.Contains(said, want) {
		t.Errorf("restore said %q, want %q", said, want)
	}
	if n := made(); n != 0 {
		t.Errorf("%d VMs are left after restore", n)
	}
	if err := os.RemoveAll(filepath.Join(r.dir, "out")); err != nil {
		t.Fatal(err)
	}
	kill()
	if said := r.must("restore", "--live", url); strings.Count(said, ": dead\n") != 8 || made() != 8 {
		t.Errorf("restore lists %q, and %d VMs are there", said, made())
	}
	if said := r.must("restore", "--live", url, "--remove"); strings.Count(said, "removed plimsoll-op-") != 8 || made() != 0 {
		t.Errorf("restore says %q, and %d VMs are there", said, made())
	}
	if said := r.must("restore", "--live", url); said != "nothing to restore\n" {
		t.Errorf("then restore says %q", said)
	}
	if after := len(v.layout()); after != before || before == 0 {
		t.Errorf("of %d VMs of somebody else %d are left", before, after)
	}
}
