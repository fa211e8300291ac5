package live_test

import (
	"strings"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/cluster/topology"
	"plimsoll/internal/live"
	"plimsoll/internal/live/reshape"
)

// VMs without a change are grouped by the reason, and VMs that no longer exist are left out.
func TestVMsWithoutAChange(t *testing.T) {
	c := clustertest.Lopsided()
	now := map[string]live.Shape{}
	for v := range c.VMs {
		c.VMs[v].VCPUs, c.VMs[v].CoresPerSocket = 4, 1
		now[c.VMs[v].Name] = live.Shape{Present: topology.Present{Setting: topology.Setting{VCPUs: 4}, Automatic: true}, Busy: "it runs"}
	}
	for h := range c.Hosts {
		c.Hosts[h].Sockets, c.Hosts[h].NodesPerSocket, c.Hosts[h].CoresPerNode, c.Hosts[h].ThreadsPerCore = 1, 1, 8, 1
	}
	gone := c.VMs[5].Name
	delete(now, gone)
	c.VMs = append([]cluster.VM(nil), c.VMs...)
	r := reshape.New(topology.Scan(c, topology.Options{}), now)
	var b strings.Builder
	if err := r.Text(&b); err != nil {
		t.Fatal(err)
	}
	if len(r.Changes) != 0 || len(r.Kept) != 5 || len(r.Possible()) != 0 {
		t.Errorf("%+v", r)
	}
	if _, kept, _ := strings.Cut(b.String(), "no change is proposed:\n"); kept != "  a-1, a-2, a-3, b-1 and 1 more: its setting is as recommended, and takes effect at the next power-on\n" {
		t.Errorf("told\n%s", kept)
	}
}

// A VM that must never be changed is listed with the reason, whether it is running or not.
func TestVMsThatAreNeverChanged(t *testing.T) {
	c := clustertest.Lopsided()
	now := map[string]live.Shape{}
	for v := range c.VMs {
		c.VMs[v].VCPUs, c.VMs[v].CoresPerSocket = 4, 1
		now[c.VMs[v].Name] = live.Shape{Present: topology.Present{Setting: topology.Setting{VCPUs: 4}, Cells: true}, Busy: "it runs"}
	}
	for h := range c.Hosts {
		c.Hosts[h].Sockets, c.Hosts[h].NodesPerSocket, c.Hosts[h].CoresPerNode, c.Hosts[h].ThreadsPerCore = 1, 1, 8, 1
	}
	pinned := now["a-1"]
	pinned.Fixed = "its vCPUs are pinned"
	now["a-1"] = pinned
	r := reshape.New(topology.Scan(c, topology.Options{}), now)
	if len(r.Changes) != len(now)-1 || len(r.Kept) != 1 || r.Kept[0] != (reshape.Unchanged{VM: "a-1", Why: "its vCPUs are pinned"}) {
		t.Errorf("%+v", r)
	}
}
