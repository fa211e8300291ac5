package livetest

import (
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/topology"
	"plimsoll/internal/live"
)

// shapes expects the topologies of the model, and refusals of invalid changes. The topology of
// a VM that is off is changed and changed back.
func shapes(t *testing.T, s Subject) {
	c := open(t, s, s.Open)
	if c.Shaper == nil {
		t.Skip("this platform cannot change topologies")
	}
	model := c.look().Cluster
	names := []string{"no such VM"}
	for i := range model.VMs {
		names = append(names, model.VMs[i].Name)
	}
	now := c.shapes(names)
	if len(now) != len(model.VMs) {
		t.Errorf("%d topologies of %d VMs", len(now), len(model.VMs))
	}
	for i := range model.VMs {
		vm := &model.VMs[i]
		shape := now[vm.Name]
		if shape.VCPUs != vm.VCPUs || shape.HotAdd != vm.HotAdd || shape.Busy == "" && shape.Fixed == "" && vm.Host != cluster.Nowhere {
			t.Errorf("%s: %q, %q; the model has %+v", vm.Name, shape.Setting, shape.Busy, vm)
		}
		c.reshape(vm.Name, shape)
	}
	if err := c.Shaper.Reshape(c.ctx, "no such VM", topology.Setting{VCPUs: 1}, topology.Setting{VCPUs: 1}); err == nil {
		t.Error("a VM that does not exist was changed")
	}
}

func (t trial) shapes(names []string) map[string]live.Shape {
	t.Helper()
	now, err := t.Shaper.Shapes(t.ctx, names)
	if err != nil {
		t.Fatalf("topologies: %v", err)
	}
	return now
}

// reshape changes a VM and changes it back, if possible; otherwise it must be refused.
func (t trial) reshape(vm string, now live.Shape) {
	t.Helper()
	is, other := now.Setting, now.Setting
	other.CoresPerSocket, other.CoresPerNode = now.VCPUs, 0
	if other.CoresPerSocket == is.CoresPerSocket {
		other.CoresPerSocket = 1
	}
	if other.CoresPerSocket == is.CoresPerSocket {
		return
	}
	free := now.Busy == "" && now.Fixed == ""
	if free {
		for _, step := range [][2]topology.Setting{{is, other}, {other, is}} {
			if err := t.Shaper.Reshape(t.ctx, vm, step[0], step[1]); err != nil {
				t.Fatalf("change %s: %v", vm, err)
			}
			if got := t.shapes([]string{vm})[vm]; got.String() != step[1].String() {
				t.Fatalf("%s has %q, want %q", vm, got.Setting, step[1])
			}
		}
	}
	for what, from := range map[string]topology.Setting{"that runs": is, "that somebody changed": other} {
		if what == "that runs" && free {
			continue
		}
		if err := t.Shaper.Reshape(t.ctx, vm, from, topology.Setting{VCPUs: is.VCPUs, CoresPerSocket: 1, Advanced: map[string]string{"numa.vcpu.min": "3"}}); err == nil {
			t.Errorf("a VM %s was changed: %s", what, vm)
		}
	}
	if got := t.shapes([]string{vm})[vm]; got.String() != is.String() {
		t.Errorf("%s has %q, had %q", vm, got.Setting, is)
	}
}
