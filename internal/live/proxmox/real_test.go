package proxmox

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/live"
	"plimsoll/internal/live/apply"
	"plimsoll/internal/live/livetest"
	"plimsoll/internal/proxmox/proxmoxtest"
)

// dense is a cluster of three nodes with six VMs on the first.
func dense(t *testing.T) *proxmoxtest.Cluster {
	t.Helper()
	f := proxmoxtest.Start(t)
	f.Do("add_ceph_storage")
	f.Do("add_node", "pve2")
	f.Do("add_node", "pve3")
	for i := range 6 {
		f.Do("add_vm", 100+i, fmt.Sprintf("web-%d", i+1), proxmoxtest.Values{"node": "pve1", "status": "running",
			"config": map[string]any{"cores": 1, "memory": 1024, "scsi0": "ceph-pool:vm-disk-0,size=8G", "net0": "virtio=AA:BB:CC:DD:EE:FF,bridge=vmbr0"}})
		f.Do("vm_", 100+i, proxmoxtest.Values{"stats": map[string]any{"cpu": 0.6, "mem": 512 << 20}})
	}
	return f
}

// address is that of a fake, for an account.
func address(t testing.TB, f *proxmoxtest.Cluster, user, secret string) live.Address {
	t.Helper()
	t.Setenv("PVE_SECRET", secret)
	at, err := live.ParseAddress("proxmox://" + user + "@" + f.Host + "/?poll=100ms&password=env:PVE_SECRET&ca=" + url.QueryEscape(f.CA))
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func connect(t testing.TB, f *proxmoxtest.Cluster, user string) live.Connection {
	t.Helper()
	c, err := Kind().Open(t.Context(), address(t, f, user, "secret"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestConformance(t *testing.T) {
	f := dense(t)
	f.Do("set", proxmoxtest.Values{"users": map[string]string{"reader@pve": "secret"}})
	f.Do("grant", "reader@pve", "/", "VM.Audit", "Sys.Audit")
	f.Do("vm_", 105, proxmoxtest.Values{"status": "stopped"})
	f.Do("add_vm", 106, "wide", proxmoxtest.Values{"node": "pve1", "status": "stopped", "config": map[string]any{"sockets": 2, "cores": 1, "numa": 1, "memory": 512}})
	livetest.Run(t, livetest.Subject{
		Off:     "web-6",
		Open:    func(t testing.TB) live.Connection { return connect(t, f, "root@pam") },
		Limited: func(t testing.TB) live.Connection { return connect(t, f, "reader@pve") },
	})
}

var errEnough = errors.New("enough")

// first is the first step.
func first(t *testing.T, c live.Connection) (first live.Step) {
	t.Helper()
	if err := c.Source.Watch(t.Context(), func(s live.Step) error { first = s; return errEnough }); !errors.Is(err, errEnough) {
		t.Fatal(err)
	}
	return first
}

func loads(c *cluster.Cluster) (out []float64) {
	l := cluster.NewLayout(c, cluster.NewIndex(c))
	for h := range c.Hosts {
		out = append(out, float64(l.Demand(cluster.HostID(h)).CPU)/float64(c.Hosts[h].Capacity().CPU))
	}
	return out
}

func TestBalancesAndKeepsRules(t *testing.T) {
	f := dense(t)
	f.Do("set", proxmoxtest.Values{"rules": []map[string]any{
		{"rule": "pair", "type": "resource-affinity", "affinity": "negative", "resources": "vm:100,vm:101"},
		{"rule": "stay", "type": "node-affinity", "nodes": "pve1:2,pve2", "strict": 1, "resources": "vm:102"},
		{"rule": "off", "type": "resource-affinity", "affinity": "positive", "resources": "vm:100,vm:101", "disable": 1},
		{"rule": "gone", "type": "node-affinity", "nodes": "pve9", "resources": "vm:102"},
	}})
	c := connect(t, f, "root@pam")
	defer c.Close()
	now := first(t, c).Cluster
	h := now.Hosts[0]
	if before := loads(now); before[0] < 1.7 || before[1] != 0 {
		t.Errorf("loads before: %.2f", before)
	}
	if len(now.Hosts) != 3 || h.Name != "pve1" || h.Cores() != 2 || h.MHz != 1000 || h.Memory != 8<<30 || len(h.Networks) != 1 || len(h.Datastores) != 1 {
		t.Errorf("host %+v of %d", h, len(now.Hosts))
	}
	if v := now.VMs[0]; v.Name != "web-1" || v.VCPUs != 1 || v.Memory != 1<<30 || v.Demand.CPU.Count < 5 || v.Demand.CPU.Recent != 600 || v.Demand.Consumed != 512<<20 || v.Pinned || len(v.Datastores) != 1 || len(v.Networks) != 1 {
		t.Errorf("VM %+v", v)
	}
	if len(now.Rules) != 3 || !now.Rules[0].Must || now.Rules[0].Kind != cluster.Apart || now.Rules[1].Kind != cluster.OnHosts || len(now.Rules[1].Hosts) != 2 || !now.Rules[2].Disabled {
		t.Errorf("rules %+v", now.Rules)
	}
	x := cluster.NewIndex(now)
	plan := balance.Round(cluster.NewLayout(now, x), x, advice.Options{})
	var changes []apply.Change
	for i, m := range plan.Moves {
		changes = append(changes, apply.Change{Number: i + 1, Action: live.Move, Step: m.Number, VM: now.VMs[m.VM].Name, From: now.Hosts[m.From].Name, To: now.Hosts[m.To].Name})
	}
	a := apply.Applier{Connection: c, Journal: filepath.Join(t.TempDir(), "journal.jsonl"), Address: "proxmox://fake/", Parallel: 4}
	if r, err := a.Apply(t.Context(), apply.Plan{Seen: now, Changes: changes}); err != nil || r.Stopped != "" {
		t.Fatalf("%+v, %v", r, err)
	}
	after := first(t, c).Cluster
	if even := loads(after); slices.Max(even) > 0.65 || len(plan.Moves) != 4 {
		t.Errorf("loads after %d moves: %.2f", len(plan.Moves), even)
	}
	if f.Do("where", 100) == f.Do("where", 101) || f.Do("where", 102) == "pve3" {
		t.Error("a rule is broken")
	}
}

func TestMovesThatFail(t *testing.T) {
	f := dense(t)
	c := connect(t, f, "root@pam")
	defer c.Close()
	fails := func(name, want string) {
		t.Helper()
		if err := c.Hand.Move(t.Context(), "web-1", "pve2"); err == nil || !strings.Contains(err.Error(), want) || f.Do("where", 100) != "pve1" {
			t.Errorf("%s: %v, on %s; want %q", name, err, f.Do("where", 100), want)
		}
	}
	f.Do("snapshot_lock", 100, "backup")
	fails("locked", "locked (backup)")
	f.Do("unlock", 100)
	f.Do("lose_quorum")
	fails("no quorum", "no quorum")
	f.Do("regain_quorum")
	f.Do("set", proxmoxtest.Values{"half_way": "connection lost"})
	fails("half-way", "connection lost")
	f.Do("set", proxmoxtest.Values{"half_way": nil})
	f.Do("vm_", 100, proxmoxtest.Values{"config": map[string]any{"scsi0": "local-lvm:vm-100-disk-0"}})
	fails("a local disk", "not shared")
	f.Do("vm_", 100, proxmoxtest.Values{"config": map[string]any{"hostpci0": "0000:01:00"}})
	fails("a device", "devices of its node")
	f.Do("vm_", 100, proxmoxtest.Values{"config": map[string]any{"cores": 1}})
	f.Do("set_node_offline", "pve2")
	fails("a node that is offline", "quarantined")
	f.Do("set_node_offline", "pve2", false)
	f.Do("set", proxmoxtest.Values{"node_states": map[string]string{"pve2": "maintenance"}})
	fails("maintenance of the HA manager", "maintenance")
	if err := c.Hand.Maintain(t.Context(), "pve2", false); err == nil || !strings.Contains(err.Error(), "node-maintenance disable pve2") {
		t.Errorf("the HA manager's maintenance ends by %v", err)
	}
	f.Do("set", proxmoxtest.Values{"node_states": map[string]string{}})
	f.Do("set", proxmoxtest.Values{"time_scale": 1.0, "migration_secs": 600})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := c.Hand.Move(ctx, "web-1", "pve2"); !errors.Is(err, context.DeadlineExceeded) || f.Do("where", 100) != "pve1" {
		t.Errorf("a slow task: %v", err)
	}
	f.Do("set", proxmoxtest.Values{"time_scale": 0.0, "migration_secs": 0})
	if err := c.Hand.Maintain(t.Context(), "pve1", true); err == nil || !strings.Contains(err.Error(), "web-1, web-2") {
		t.Errorf("maintenance with VMs: %v", err)
	}
	if err := c.Hand.Move(t.Context(), "web-1", "pve2"); err != nil || f.Do("where", 100) != "pve2" {
		t.Errorf("nothing is in the way any more: %v", err)
	}
}

// The HA manager moves its VMs itself, some time after the task has ended.
func TestTheHAManagerMoves(t *testing.T) {
	f := dense(t)
	f.Do("set", proxmoxtest.Values{"time_scale": 1.0, "ha_delay": 1})
	f.Do("vm_", 100, proxmoxtest.Values{"ha_state": "started"})
	c := connect(t, f, "root@pam")
	defer c.Close()
	if err := c.Hand.Move(t.Context(), "web-1", "pve3"); err != nil || f.Do("where", 100) != "pve3" {
		t.Errorf("%v, on %s", err, f.Do("where", 100))
	}
	f.Do("set", proxmoxtest.Values{"held": true})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := c.Hand.Move(ctx, "web-1", "pve1"); !errors.Is(err, context.DeadlineExceeded) || f.Do("where", 100) != "pve3" {
		t.Errorf("a request that the HA manager ignores: %v", err)
	}
}

// Changes by others, failures and losses are reported as events.
func TestEvents(t *testing.T) {
	f := dense(t)
	c := connect(t, f, "root@pam")
	defer c.Close()
	steps := []struct {
		do   func()
		want string
	}{
		{func() { f.Do("migrate", 100, "pve2", 0, "admin@pve") }, "vm-moved web-1 pve2 pve1 admin@pve migrated"},
		{func() {
			f.Do("set", proxmoxtest.Values{"half_way": "no space"})
			go c.Hand.Move(context.Background(), "web-2", "pve3")
		}, "task-failed web-2 pve1  root@pam qmigrate: no space"},
		{func() { f.Do("vm_", 102, proxmoxtest.Values{"status": "stopped"}) }, "vm-stopped web-3 pve1   "},
		{func() { f.Do("remove", 102) }, "vm-removed web-3 pve1   "},
		{func() { f.Do("set_node_offline", "pve2") }, "host-changed  pve2   from connected to quarantined"},
		{func() { f.Do("set_node_offline", "pve2", false) }, "host-changed  pve2   from quarantined to connected"},
		{func() { f.Do("lose_quorum") }, "message     the cluster has lost its quorum: it refuses every change"},
		{func() { f.Do("regain_quorum") }, "message     the cluster has its quorum again"},
		{func() { f.Do("fail", "GET", "/cluster/status", 596, "Connection timed out") }, "control-lost     GET /cluster/status: Connection timed out (status 596)"},
		{func() { f.Do("set", proxmoxtest.Values{"failures": map[string]any{}}) }, "control-back     "},
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	next := 0
	var told []string
	err := c.Source.Watch(ctx, func(s live.Step) error {
		if next == 0 {
			steps[0].do()
			next = 1
		}
		for _, e := range s.Events {
			text := strings.Join([]string{string(e.Kind), e.VM, e.Host, e.From, e.By, e.Text}, " ")
			told = append(told, text)
			if next <= len(steps) && text == steps[next-1].want {
				if next == len(steps) {
					return errEnough
				}
				steps[next].do()
				next++
			}
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Errorf("%v; told %q\nmissing %q", err, told, steps[next-1].want)
	}
}

func TestAnOfflineNodeIsNoReasonToMove(t *testing.T) {
	f := dense(t)
	c := connect(t, f, "root@pam")
	defer c.Close()
	seen := 0
	err := c.Source.Watch(t.Context(), func(s live.Step) error {
		if seen++; seen == 1 {
			f.Do("set_node_offline", "pve1")
			return nil
		}
		if s.Cluster.Hosts[0].State != cluster.Quarantined {
			return nil
		}
		v := s.Cluster.VMs[0]
		x := cluster.NewIndex(s.Cluster)
		if p := balance.Round(cluster.NewLayout(s.Cluster, x), x, advice.Options{}); v.Host != 0 || !v.Pinned || len(p.Moves)+len(p.Stranded) > 0 {
			t.Errorf("VM %+v, moves %+v, stranded %+v", v, p.Moves, p.Stranded)
		}
		return errEnough
	})
	if !errors.Is(err, errEnough) {
		t.Error(err)
	}
}

func TestRevokedAccessEndsTheWatch(t *testing.T) {
	f := dense(t)
	c := connect(t, f, "root@pam")
	defer c.Close()
	steps := 0
	err := c.Source.Watch(t.Context(), func(live.Step) error {
		if steps++; steps == 2 {
			f.Do("set", proxmoxtest.Values{"password": "changed"})
			f.Do("revoke_tickets")
		}
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "authentication failure") || steps < 2 || steps > 4 {
		t.Errorf("%v after %d steps", err, steps)
	}
}

// A node that temporarily refuses is retried, also before the first step.
func TestTheFirstStepMayComeLate(t *testing.T) {
	f := dense(t)
	c := connect(t, f, "root@pam")
	defer c.Close()
	f.Do("fail", "GET", "/cluster/resources", 503, "starting", proxmoxtest.Values{"times": 2})
	if s := first(t, c); len(s.Cluster.VMs) != 6 {
		t.Errorf("%d VMs", len(s.Cluster.VMs))
	}
	f.Do("fail", "GET", "/cluster/resources", 403, "Permission check failed")
	if err := c.Source.Watch(t.Context(), func(live.Step) error { return nil }); err == nil || !strings.Contains(err.Error(), "Permission") {
		t.Errorf("%v", err)
	}
}
