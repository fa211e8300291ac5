package proxmox_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/proxmox"
	"plimsoll/internal/proxmox/proxmoxtest"
)

func account(f *proxmoxtest.Cluster) proxmox.Account {
	return proxmox.Account{Host: f.Host, User: "root@pam", Password: "secret", CA: f.CA}
}

func open(t *testing.T, a proxmox.Account) *proxmox.Client {
	t.Helper()
	c, err := proxmox.Open(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// The fake is somebody else's reading of the API.
func TestAFakeOfProxmox(t *testing.T) {
	f := proxmoxtest.Start(t)
	f.Do("add_node", "pve2")
	f.Do("add_vm", 100, "web", proxmoxtest.Values{"node": "pve1", "status": "running", "config": map[string]any{"cores": 2, "memory": 1024, "scsi0": "ceph:vm-100-disk-0,size=8G"}})
	for name, test := range map[string]func(*testing.T, *proxmoxtest.Cluster){
		"who gets in": letsIn, "inventory": reads, "tickets": renews, "tasks": followsTasks,
	} {
		t.Run(name, func(t *testing.T) { test(t, f) })
	}
}

func letsIn(t *testing.T, f *proxmoxtest.Cluster) {
	f.Do("token", "root@pam!plimsoll", "aaaa-bbbb")
	good := account(f)
	for name, tc := range map[string]struct {
		change func(*proxmox.Account)
		says   string
	}{
		"a password":             {func(*proxmox.Account) {}, ""},
		"a fingerprint":          {func(a *proxmox.Account) { a.CA, a.Fingerprint = "", f.Fingerprint }, ""},
		"another fingerprint":    {func(a *proxmox.Account) { a.CA, a.Fingerprint = "", strings.Repeat("ab", 32) }, "not the one that is given"},
		"half a fingerprint":     {func(a *proxmox.Account) { a.CA, a.Fingerprint = "", "AB:CD" }, "32 bytes"},
		"an unknown authority":   {func(a *proxmox.Account) { a.CA = "" }, "certificate"},
		"a wrong password":       {func(a *proxmox.Account) { a.Password = "geheim" }, "authentication failure"},
		"no realm":               {func(a *proxmox.Account) { a.User = "root" }, "realm"},
		"no secret":              {func(a *proxmox.Account) { a.Password = "" }, "password or a token"},
		"two secrets":            {func(a *proxmox.Account) { a.Token = "x" }, "exclude"},
		"a token without name":   {func(a *proxmox.Account) { a.Password, a.Token = "", "x" }, "name"},
		"two kinds of trust":     {func(a *proxmox.Account) { a.Fingerprint = f.Fingerprint }, "exclude"},
		"a CA that is not there": {func(a *proxmox.Account) { a.CA = "/does/not/exist" }, "authority"},
	} {
		a := good
		tc.change(&a)
		c, err := proxmox.Open(t.Context(), a)
		if tc.says == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			c.Close()
			continue
		}
		if err == nil || !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %v, want %q", name, err, tc.says)
		}
	}
	a := account(f)
	a.User, a.Password, a.Token = "root@pam!plimsoll", "", "aaaa-bbbb"
	if _, err := open(t, a).Resources(t.Context()); err != nil {
		t.Errorf("a token: %v", err)
	}
	a.Token = "geheim"
	if _, err := open(t, a).Resources(t.Context()); err == nil || strings.Contains(err.Error(), "geheim") {
		t.Errorf("a wrong token: %v", err)
	}
	f.Do("set", proxmoxtest.Values{"tfa": true})
	if _, err := proxmox.Open(t.Context(), account(f)); err == nil || !strings.Contains(err.Error(), "use an API token") {
		t.Errorf("a second factor: %v", err)
	}
	f.Do("set", proxmoxtest.Values{"tfa": false})
}

func reads(t *testing.T, f *proxmoxtest.Cluster) {
	c := open(t, account(f))
	ctx := t.Context()
	all, err := c.Resources(ctx)
	types := map[string]int{}
	for _, r := range all {
		types[r.Type]++
		if r.Type == "qemu" && (r.VMID != 100 || r.Node != "pve1" || r.MaxCPU != 2 || r.MaxMem != 1<<30) {
			t.Errorf("%+v", r)
		}
	}
	if err != nil || types["node"] != 2 || types["qemu"] != 1 {
		t.Errorf("%v, %v", types, err)
	}
	members, err := c.Members(ctx)
	if err != nil || len(members) != 3 || members[0].Quorate != 1 {
		t.Errorf("%+v, %v", members, err)
	}
	v, err := c.Config(ctx, "pve1", 100)
	if err != nil || v["cores"] != "2" || proxmox.Properties(string(v["scsi0"]))[""] != "ceph:vm-100-disk-0" {
		t.Errorf("%v, %v", v, err)
	}
	n, err := c.Node(ctx, "pve1")
	if err != nil || n.CPU.MHz != 1000 || n.Memory.Total != 8<<30 {
		t.Errorf("%+v, %v", n, err)
	}
	notes, err := c.Notes(ctx, "pve2")
	if err != nil {
		t.Fatal(err)
	}
	stale := notes
	notes.Text = "rack 7"
	if err := c.SetNotes(ctx, "pve2", notes); err != nil {
		t.Error(err)
	}
	if err := c.SetNotes(ctx, "pve2", stale); err == nil || !strings.Contains(err.Error(), "modified") {
		t.Errorf("notes that others changed: %v", err)
	}
	if _, err := c.Config(ctx, "pve1", 999); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("%v", err)
	}
	if held, err := c.Permissions(ctx); err != nil || held["/"]["VM.Migrate"] != 1 {
		t.Errorf("%v, %v", held, err)
	}
}

// renews: an expired ticket is renewed, for reading and for changes.
func renews(t *testing.T, f *proxmoxtest.Cluster) {
	c := open(t, account(f))
	f.Do("revoke_tickets")
	if _, err := c.Resources(t.Context()); err != nil {
		t.Error(err)
	}
	f.Do("revoke_tickets")
	u, err := c.Migrate(t.Context(), proxmox.Migration{Node: "pve1", VMID: 100, Target: "pve2", Online: true})
	if err == nil {
		err = c.Await(t.Context(), u)
	}
	if err != nil || f.Do("where", 100) != "pve2" || u.Type != "qmigrate" || u.ID != "100" || u.User != "root@pam" {
		t.Errorf("%+v, %v, on %s", u, err, f.Do("where", 100))
	}
	f.Do("vm_", 100, proxmoxtest.Values{"node": "pve1"})
	f.Do("revoke_tickets")
	f.Do("set", proxmoxtest.Values{"password": "changed"})
	if _, err := c.Resources(t.Context()); err == nil || !strings.Contains(err.Error(), "authentication failure") {
		t.Errorf("the password was changed: %v", err)
	}
	f.Do("set", proxmoxtest.Values{"password": "secret"})
}

func followsTasks(t *testing.T, f *proxmoxtest.Cluster) {
	c := open(t, account(f))
	migrate := func() proxmox.UPID {
		t.Helper()
		u, err := c.Migrate(t.Context(), proxmox.Migration{Node: "pve1", VMID: 100, Target: "pve2", Online: true})
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	f.Do("set", proxmoxtest.Values{"half_way": "migration aborted: connection lost"})
	err := c.Await(t.Context(), migrate())
	if err == nil || !strings.Contains(err.Error(), "connection lost") || !strings.Contains(err.Error(), "starting migration") || f.Do("where", 100) != "pve1" {
		t.Errorf("a task that fails half-way: %v", err)
	}
	f.Do("set", proxmoxtest.Values{"half_way": nil, "time_scale": 1.0, "migration_secs": 600})
	ctx, cancel := context.WithCancelCause(t.Context())
	u := migrate()
	enough := errors.New("enough")
	time.AfterFunc(300*time.Millisecond, func() { cancel(enough) })
	if err := c.Await(ctx, u); !errors.Is(err, enough) || !strings.Contains(err.Error(), "cancelled") || f.Do("where", 100) != "pve1" {
		t.Errorf("a slow task that nobody wants any more: %v", err)
	}
	f.Do("set", proxmoxtest.Values{"time_scale": 0.0, "migration_secs": 0})
	f.Do("lose_quorum")
	if _, err := c.Migrate(t.Context(), proxmox.Migration{Node: "pve1", VMID: 100, Target: "pve2"}); err == nil || !strings.Contains(err.Error(), "quorum") {
		t.Errorf("without quorum: %v", err)
	}
	f.Do("regain_quorum")
	f.Do("snapshot_lock", 100, "backup")
	if _, err := c.Migrate(t.Context(), proxmox.Migration{Node: "pve1", VMID: 100, Target: "pve2"}); err == nil || !strings.Contains(err.Error(), "locked (backup)") {
		t.Errorf("a locked VM: %v", err)
	}
	f.Do("unlock", 100)
}
