package sim_test

import (
	"context"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
)

// hanging begins an operation on a VM that does not end before it is cancelled.
func hanging(t *testing.T, c *cluster.Cluster, rule string, begin func(*bed, *object.VirtualMachine) (*object.Task, error)) (*bed, *object.Task) {
	_, set, client := troubled(t, c, rule)
	b := &bed{t, client, context.Background()}
	task := must(begin(b, b.vm("web-001")))
	if err := set.Add(nil, true); err != nil {
		t.Fatal(err)
	}
	return b, task
}

func TestARoundCountsVMsWhereTheyMoveTo(t *testing.T) {
	t.Parallel()
	in := dense(3)
	in.Rules = []cluster.Rule{{Name: "spread", Kind: cluster.Apart, Must: true, VMs: []cluster.VMID{0, 1}}}
	b, task := hanging(t, in, "migrate=1:hang", func(b *bed, vm *object.VirtualMachine) (*object.Task, error) {
		return vm.Migrate(b.ctx, nil, b.host("host-2"), types.VirtualMachineMovePriorityDefaultPriority, "")
	})
	b.behave(types.DrsBehaviorPartiallyAutomated)
	if c := b.refresh(); len(c.Recommendation) > 0 || len(c.DrsFault) > 0 {
		t.Errorf("%d recommendations and %d faults while the VM that violates the rule moves", len(c.Recommendation), len(c.DrsFault))
	}
	if err := task.Cancel(b.ctx); err != nil {
		t.Fatal(err)
	}
	if c := b.refresh(); len(c.Recommendation) != 1 {
		t.Errorf("%d recommendations after the move was cancelled", len(c.Recommendation))
	}
}

func TestMaintenanceWaitsForOperationsOfOthers(t *testing.T) {
	t.Parallel()
	b, task := hanging(t, dense(6), "createSnapshot=1:hang", func(b *bed, vm *object.VirtualMachine) (*object.Task, error) {
		return vm.CreateSnapshot(b.ctx, "before", "", false, false)
	})
	b.behave(types.DrsBehaviorFullyAutomated)
	h := b.host("host-1")
	entering := must(h.EnterMaintenanceMode(b.ctx, 0, false, nil))
	until(b, h.Reference(), "vm", func(vms types.ArrayOfManagedObjectReference) bool {
		return len(vms.ManagedObjectReference) == 1 && vms.ManagedObjectReference[0] == b.vm("web-001").Reference()
	})
	if n := len(b.cluster().DrsFault); n > 0 {
		t.Errorf("%d faults while an operation is in flight", n)
	}
	if err := task.Cancel(b.ctx); err != nil {
		t.Fatal(err)
	}
	b.done(entering, nil)
	b.consistent()
}

func TestAMoveThatFailsDoesNotEndTheRound(t *testing.T) {
	t.Parallel()
	_, _, client := troubled(t, dense(150), "migrate=0.5:InsufficientResourcesFault")
	b := &bed{t, client, context.Background()}
	b.behave(types.DrsBehaviorPartiallyAutomated)
	want := len(b.refresh().Recommendation)
	b.behave(types.DrsBehaviorFullyAutomated)
	c := b.refresh().Self
	until(b, c, "drsFault", func(f types.ArrayOfClusterDrsFaults) bool {
		return len(f.ClusterDrsFaults)+len(b.cluster().MigrationHistory) >= want
	})
	is := b.cluster()
	if len(is.MigrationHistory) < want/4 || len(is.DrsFault) < want/4 {
		t.Errorf("of %d moves %d were carried out and %d failed", want, len(is.MigrationHistory), len(is.DrsFault))
	}
	for _, f := range is.DrsFault {
		why := f.FaultsByVm[0].GetClusterDrsFaultsFaultsByVm().Fault[0].Fault
		if _, injected := why.(*types.InsufficientResourcesFault); !injected {
			t.Errorf("a move failed by %T", why)
		}
	}
}
