package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/live"
)

// misshaped has hosts of two nodes of eight cores, and VMs of twelve vCPUs in sockets of one: a-1 and
// a-2 are off, a-3 runs. The others are aligned.
func misshaped() *cluster.Cluster {
	c := clustertest.Lopsided()
	for h := range c.Hosts {
		c.Hosts[h].Sockets, c.Hosts[h].NodesPerSocket, c.Hosts[h].CoresPerNode, c.Hosts[h].ThreadsPerCore = 2, 1, 8, 1
	}
	for v := range c.VMs {
		c.VMs[v].VCPUs, c.VMs[v].CoresPerSocket = 4, 4
		if v < 3 {
			c.VMs[v].VCPUs, c.VMs[v].CoresPerSocket = 12, 1
		}
	}
	for v := range 2 {
		c.VMs[v].Host = cluster.Nowhere
	}
	return c
}

func TestTopologiesOfALiveCluster(t *testing.T) {
	l := newLab(t, misshaped())
	const former, better = "vcpus=12 cores-per-socket=1 cores-per-node=auto", "vcpus=12 cores-per-socket=auto cores-per-node=auto numa.autosize.once:FALSE"
	out, _ := l.run(0, "topology", at)
	wants(t, out, "\nchanges:\n  a-1: "+former+" -> "+better+"\n  a-2: ", "must wait until the VM is powered off:\n  a-3: ", "(it runs)")
	if l.live.Setting("a-1") != former || len(l.journals()) > 0 {
		t.Fatalf("a command that only reads left %q and wrote %q", l.live.Setting("a-1"), l.journals())
	}
	out, _ = l.run(0, "topology", at, "--apply", "a-2")
	wants(t, out, "1 of 1 changes made", "To undo: plimsoll cluster undo")
	out, _ = l.run(0, "topology", at, "--apply")
	wants(t, out, "1 of 1 changes made")
	for vm, want := range map[string]string{"a-1": better, "a-2": better, "a-3": former} {
		if got := l.live.Setting(vm); got != want {
			t.Errorf("%s has %q, want %q", vm, got, want)
		}
	}
	out, _ = l.run(0, "topology", at, "--apply")
	wants(t, out, "There was nothing to change")
	for _, j := range l.journals() {
		l.run(0, "undo", j, at)
	}
	for _, vm := range []string{"a-1", "a-2", "a-3"} {
		if got := l.live.Setting(vm); got != former {
			t.Errorf("after the undo %s has %q, want %q", vm, got, former)
		}
	}
}

func TestTopologiesThatAreNotChanged(t *testing.T) {
	l := newLab(t, misshaped())
	l.live.Deny(live.Reshape, "VirtualMachine.Config.CPUCount on VMs")
	_, complaint := l.run(2, "topology", at, "--apply")
	wants(t, complaint, "lacks privileges to reshape: VirtualMachine.Config.CPUCount on VMs; nothing was changed")
	_, complaint = l.run(2, "topology", at, "--apply", "nobody")
	wants(t, complaint, "nobody")
	out, _ := l.run(0, "topology", at, "--json")
	var told struct {
		Changes []struct{ Name, From, To, Busy string }
		Advices []any
	}
	if err := json.Unmarshal([]byte(out), &told); err != nil || len(told.Changes) != 3 || len(told.Advices) != 6 || told.Changes[2].Busy != "it runs" {
		t.Errorf("%v in %s", err, out)
	}
}

// CPU hot-add hides nodes: a change turns it off only if that was asked for.
func TestTopologiesWithHotAdd(t *testing.T) {
	c := misshaped()
	c.VMs[0].HotAdd, c.VMs[0].CoresPerSocket = true, 6
	l := newLab(t, c)
	out, _ := l.run(0, "topology", at)
	wants(t, out, "no change is proposed:\n  a-1: CPU hot-add hides the nodes")
	out, _ = l.run(0, "topology", at, "--without-hot-add")
	wants(t, out, "  a-1: vcpus=12 cores-per-socket=6 cores-per-node=auto hot-add=on -> vcpus=12 cores-per-socket=auto cores-per-node=auto numa.autosize.once:FALSE\n")
	out, _ = l.run(0, "topology", at, "--expose-on-hot-add")
	wants(t, out, "hot-add=on show-nodes-on-hot-add=on")
	if strings.Contains(l.live.Setting("a-1"), "show") {
		t.Error("a command that only reads has changed a VM")
	}
}

// A journal that is not in the state folder is completed too, and the user is told what is waited for.
func TestUndoOfAKilledRunElsewhere(t *testing.T) {
	l := newLab(t, misshaped())
	former := l.live.Setting("a-2")
	journal := filepath.Join(t.TempDir(), "journal.jsonl")
	l.run(0, "topology", at, "--apply", "a-2", "--journal", journal)
	text, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	if err := os.WriteFile(journal, []byte(strings.Join(lines[:2], "")), 0o600); err != nil { // begin and intent
		t.Fatal(err)
	}
	_, note := l.run(0, "undo", journal, at)
	wants(t, note, "an earlier plimsoll was killed after", "begun 1 of 1 changes", "was made")
	if got := l.live.Setting("a-2"); got != former {
		t.Errorf("a-2 has %q, want %q", got, former)
	}
}
