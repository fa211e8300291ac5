package proxmox

import (
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/cluster/topology"
	"plimsoll/internal/live"
	"plimsoll/internal/live/apply"
	"plimsoll/internal/proxmox"
	"plimsoll/internal/proxmox/proxmoxtest"
)

func TestFormsOfVMs(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "vcpus=1 cores-per-socket=1 cores-per-node=auto|",
		"sockets=2;cores=4;numa=1":       "vcpus=8 cores-per-socket=4 cores-per-node=4|",
		"cores=4;numa=0":                 "vcpus=4 cores-per-socket=4 cores-per-node=auto|",
		"cores=4;numa=1;numa0=cpus=0-1":  "vcpus=4 cores-per-socket=4 cores-per-node=4|its NUMA nodes are set by hand (numa0)",
		"cores=4;vcpus=2;hotplug=cpu":    "vcpus=4 cores-per-socket=4 cores-per-node=auto|it has 2 vCPUs plugged in of 4",
		"cores=4;vcpus=4;lock=backup":    "vcpus=4 cores-per-socket=4 cores-per-node=auto|it is locked (backup)",
		"sockets=x;cores=-1;numatune=no": "vcpus=1 cores-per-socket=1 cores-per-node=auto|",
	} {
		v := proxmox.Config{}
		for part := range strings.SplitSeq(text, ";") {
			name, value, _ := strings.Cut(part, "=")
			v[name] = proxmox.Word(value)
		}
		if is := formOf(v, false); is.String()+"|"+is.Busy+is.Fixed != want {
			t.Errorf("%s: %s|%s, want %s", text, is.Setting, is.Busy+is.Fixed, want)
		}
		if is := formOf(v, true); is.Busy != "it runs" && is.Fixed == "" {
			t.Errorf("%s, running: %q", text, is.Busy)
		}
	}
}

// A VM with a stale topology gets the advised one, and the undo restores the former one. A
// running VM is left alone.
func TestReshapes(t *testing.T) {
	f := dense(t)
	for id, status := range map[int]string{200: "stopped", 201: "running"} {
		f.Do("add_vm", id, "wide-"+status, proxmoxtest.Values{"node": "pve1", "status": status, "config": map[string]any{"sockets": 2, "cores": 1, "memory": 512}})
	}
	c := connect(t, f, "root@pam")
	defer c.Close()
	now := first(t, c).Cluster
	shapes, err := c.Shaper.Shapes(t.Context(), []string{"wide-stopped", "wide-running"})
	if err != nil || len(shapes) != 2 || shapes["wide-running"].Busy != "it runs" {
		t.Fatalf("%+v, %v", shapes, err)
	}
	var changes []apply.Change
	for _, a := range topology.Scan(now, topology.Options{VNUMAMin: 1}).Advices {
		if shape, has := shapes[a.VM.Name]; has && shape.Busy == "" {
			if want, why := a.Change(shape.Present); why == "" {
				changes = append(changes, apply.Change{Number: 1, Action: live.Reshape, VM: a.VM.Name, From: shape.String(), To: want.String()})
			}
		}
	}
	if len(changes) != 1 || changes[0].To != "vcpus=2 cores-per-socket=2 cores-per-node=auto" {
		t.Fatalf("changes %+v", changes)
	}
	a := apply.Applier{Connection: c, Journal: filepath.Join(t.TempDir(), "journal.jsonl"), Address: "proxmox://fake/"}
	if r, err := a.Apply(t.Context(), apply.Plan{Seen: now, Changes: changes}); err != nil || r.Made() != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	is := func() string {
		t.Helper()
		now, err := c.Shaper.Shapes(t.Context(), []string{"wide-stopped"})
		if err != nil {
			t.Fatal(err)
		}
		return now["wide-stopped"].String()
	}
	if got := is(); got != changes[0].To {
		t.Errorf("it has %q", got)
	}
	j, err := apply.ReadJournal(a.Journal)
	if err != nil {
		t.Fatal(err)
	}
	a.Journal += ".undo"
	if r, err := a.Undo(t.Context(), j); err != nil || r.Made() != 1 || is() != changes[0].From {
		t.Errorf("undo: %+v, %v; it has %q", r, err, is())
	}
	for _, to := range []topology.Setting{{VCPUs: 2, CoresPerSocket: 0}, {VCPUs: 4, CoresPerSocket: 2}, {VCPUs: 2, CoresPerSocket: 2, CoresPerNode: 1}, {VCPUs: 2, CoresPerSocket: 2, HotAdd: true}} {
		if err := c.Shaper.Reshape(t.Context(), "wide-stopped", shapes["wide-stopped"].Setting, to); err == nil || !strings.Contains(err.Error(), "the platform has no setting") {
			t.Errorf("%q: %v", to, err)
		}
	}
}
