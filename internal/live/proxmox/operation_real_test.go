package proxmox_test

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/live"
	"plimsoll/internal/live/proxmox/operation"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/proxmox/proxmoxtest"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/operations"
	"plimsoll/internal/workload/operations/management"
	"plimsoll/internal/workload/operations/managementtest"
)

// start starts a fake cluster of three nodes, and returns its address for an account.
func start(t *testing.T, user string) (*proxmoxtest.Cluster, live.Address) {
	t.Helper()
	f := proxmoxtest.Start(t)
	f.Do("add_ceph_storage")
	f.Do("add_node", "pve2")
	f.Do("add_node", "pve3")
	f.Do("add_vm", 100, "production", proxmoxtest.Values{"node": "pve1", "status": "running", "config": map[string]any{"cores": 1, "memory": 1024}})
	t.Setenv("PVE_SECRET", "secret")
	at, err := live.ParseAddress("proxmox://" + user + "@" + f.Host + "/?password=env:PVE_SECRET&ca=" + url.QueryEscape(f.CA))
	if err != nil {
		t.Fatal(err)
	}
	return f, at
}

func connect(t *testing.T, at live.Address) management.Platform {
	t.Helper()
	p, err := operation.Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func TestConformance(t *testing.T) {
	_, at := start(t, "root@pam")
	managementtest.Run(t, managementtest.Subject{
		Platform: connect(t, at), Size: management.Size{CPUs: 1, Memory: 64 << 20, Disk: 1 << 30}, Lacks: []management.Kind{management.Register},
		Tolerant: true, Unknown: "999",
	})
}

// The workload restores the VMs, and removes them.
func TestWorkload(t *testing.T) {
	f, at := start(t, "root@pam")
	f.Do("set", proxmoxtest.Values{"time_scale": 0.001, "migration_secs": 20})
	p := connect(t, at)
	env := workload.Env{Seed: 1, Log: t.Logf, Target: func(string) (load.Endpoint, error) { return load.Endpoint{Network: "tcp"}, nil }}
	l, err := operations.Kind(map[string]management.Opener{"proxmox": func(ctx context.Context, _ load.Endpoint) (management.Platform, error) {
		return operation.Open(ctx, at)
	}}).New(parameter.Settings{
		"vms": "12", "threads": "4", "memory": "64MiB", "owner": "real",
		"run_list": "power-on 4, power-off 3, suspend 1, create 1, clone 1, delete 2, reconfigure 2, relocate 1, migrate 2, snapshot 1, revert 1, remove-snapshots 1",
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	out := measure.NewRecorder(nil)
	if err := l.Run(t.Context(), env, load.Stage{Length: 5 * time.Second, Interval: time.Second, Seed: 1}, out); err != nil {
		t.Fatal(err)
	}
	passed := map[string]bool{}
	for _, c := range out.Checks() {
		passed[c.Name] = c.State == measure.Pass
		if c.State != measure.Pass {
			t.Errorf("%+v", c)
		}
	}
	if !passed["data"] {
		t.Error("the VMs are not as the operations left them")
	}
	done := int64(0)
	for _, i := range out.Intervals() {
		for _, s := range i.Samples {
			done += s.Operations
		}
	}
	if done < 19 {
		t.Errorf("%d operations in 5 s", done)
	}
	if err := l.Clean(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	if s, err := p.Survey(t.Context(), "plimsoll-", "made by plimsoll, workload operations"); err != nil || len(s.VMs) > 0 {
		t.Errorf("left are %+v, %v", s.VMs, err)
	}
	if f.Do("where", 100) != "pve1" {
		t.Error("a VM of somebody else is gone")
	}
}

// An account with read access only is refused before any change.
func TestMissingPrivileges(t *testing.T) {
	f, at := start(t, "reader@pve")
	f.Do("set", proxmoxtest.Values{"users": map[string]string{"reader@pve": "secret"}})
	f.Do("grant", "reader@pve", "/", "VM.Audit", "Sys.Audit", "VM.PowerMgmt")
	missing, err := connect(t, at).(management.Privileged).Missing(t.Context(), []management.Kind{management.Create, management.PowerOn, management.Migrate})
	if err != nil || slices.Contains(missing, "VM.PowerMgmt on /vms") || !strings.Contains(strings.Join(missing, "; "), "VM.Migrate on /vms") || len(missing) != 5 {
		t.Errorf("%q, %v", missing, err)
	}
}
