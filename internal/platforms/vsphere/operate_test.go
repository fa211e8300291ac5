package vsphere

import (
	"errors"
	"strings"
	"testing"

	"github.com/vmware/govmomi/simulator"

	"plimsoll/internal/platform"
)

// own counts the VMs of ours, the appliance among them, and those of them that have snapshots.
func own(model *simulator.Model) (vms, snapshots int) {
	for _, e := range model.Map().All("VirtualMachine") {
		vm := e.(*simulator.VirtualMachine)
		call := *model.Service.Context
		call.WithLock(vm, func() {
			if strings.HasPrefix(vm.Name, "plimsoll-") {
				vms++
				if vm.Snapshot != nil && len(vm.Snapshot.RootSnapshotList) > 0 {
					snapshots++
				}
			}
		})
	}
	return vms, snapshots
}

// Operations beside loads leave everything as it was: the VM on its host, without a snapshot, with the same agent.
func TestOperate(t *testing.T) {
	b, model := settled(t, func(s *Settings) { s.DRS = false })
	p := pretend(t, model)
	all, err := platform.MembersOf(t.Context(), b, platform.Group{Name: "twin-migrate", Machines: 1})
	if err != nil {
		t.Fatal(err)
	}
	m := all[0].(*machine)
	at, err := m.slot.vm.Placement(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if other := m.slot.vm.Elsewhere(at.Host); other == "" || other == at.Host {
		t.Fatalf("beside %s there is %q", at.Host, other)
	}
	far, boots := m.running.agent, p.count()
	for _, operation := range []string{platform.Migrate, platform.Snapshot, platform.Migrate} {
		if err := b.Operate(t.Context(), operation, m, platform.Group{Name: "twin-" + operation}); err != nil {
			t.Fatalf("%s: %v", operation, err)
		}
		now, err := m.slot.vm.Placement(t.Context())
		if vms, snapshots := own(model); err != nil || now.Host != at.Host || vms != 2 || snapshots != 0 {
			t.Errorf("after %s: on %s, was on %s; %d VMs, %d with snapshots, %v", operation, now.Host, at.Host, vms, snapshots, err)
		}
	}
	if m.running == nil || m.running.agent != far || p.count() != boots {
		t.Error("the VM booted again")
	}
	if err := b.Operate(t.Context(), platform.Deploy, nil, platform.Group{Name: "twin-deploy"}); err != nil {
		t.Fatal(err)
	}
	if vms, _ := own(model); vms != 2 || p.count() != boots+1 {
		t.Errorf("after a deployment: %d VMs, %d boots instead of %d", vms, p.count(), boots+1)
	}
	var refused *platform.Refused
	if err := b.Operate(t.Context(), "teleport", m, platform.Group{}); !errors.As(err, &refused) {
		t.Errorf("teleport: %v", err)
	}
}
