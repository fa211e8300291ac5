package main

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/live"
	"plimsoll/internal/live/proxmox/operation"
	"plimsoll/internal/proxmox/proxmoxtest"
)

// On a fake cluster of Proxmox VE, the VMs of a study that was killed are removed, and no others.
func TestRealOperationsOnProxmox(t *testing.T) {
	f := proxmoxtest.Start(t)
	f.Do("add_ceph_storage")
	f.Do("add_node", "pve2")
	f.Do("add_vm", 100, "production", proxmoxtest.Values{"node": "pve1", "status": "running", "config": map[string]any{"cores": 1, "memory": 1024}})
	f.Do("set", proxmoxtest.Values{"time_scale": 0.001, "migration_secs": 20})
	r := &rig{t: t, dir: t.TempDir()}
	secret := filepath.Join(r.dir, "secret")
	address := "proxmox://root@pam@" + f.Host + "/?password=file:" + secret + "&ca=" + url.QueryEscape(f.CA)
	text := `study: left
question: Is everything removed?
platform: local
workload:
  operations: {vms: 8, threads: 4, memory: 64MiB, owner: killed, run_list: "power-on 2, power-off 2, create 1, delete 1, migrate 1"}
service: {live: {address: "` + address + `"}}
measure: {settle: 10ms, warmup: 100ms, window: 60s, interval: 100ms, blocks: 3, retries: 100}
headline: [operations]
`
	for name, text := range map[string]string{"secret": "secret", "study.yaml": text} {
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at, err := live.ParseAddress(address)
	if err != nil {
		t.Fatal(err)
	}
	p, err := operation.Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	there := func() (all, created int) {
		s, err := p.Survey(t.Context(), "plimsoll-op-", "made by plimsoll, workload operations\nowner killed")
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range s.VMs {
			if !strings.Contains(v.Name, "-base-") {
				created++
			}
		}
		return len(s.VMs), created
	}
	for _, command := range [][]string{{"restore", "out"}, {"restore", "--live", address, "--remove"}} {
		if err := os.RemoveAll(filepath.Join(r.dir, "out")); err != nil {
			t.Fatal(err)
		}
		r.killed("the load has created a VM", func() bool { _, created := there(); return created > 0 })
		if all, _ := there(); all < 6 {
			t.Fatalf("the run was killed, and %d VMs are left", all)
		}
		said := r.must(command...)
		if all, _ := there(); all != 0 || !strings.Contains(said, "removed") {
			t.Errorf("after %q, which said %q, %d VMs are left", command, said, all)
		}
		if f.Do("where", 100) != "pve1" {
			t.Error("a VM of somebody else is gone")
		}
	}
}
