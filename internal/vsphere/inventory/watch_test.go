package inventory_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
	"plimsoll/internal/live"
	"plimsoll/internal/vsphere/disturbance"
	"plimsoll/internal/vsphere/hand"
	"plimsoll/internal/vsphere/inventory"
	"plimsoll/internal/vsphere/session"
	"plimsoll/internal/vsphere/vspheretest"
)

// watch is a watch of a simulated cluster.
type watch struct {
	testing.TB
	vc       *vspheretest.VCenter
	proxy    *vspheretest.Proxy
	hand     *hand.Hand
	steps    chan live.Step
	ended    chan error
	first    live.Step
	password string // the reference to it
}

const vmName = "DC0_C0_RP0_VM0"

func begin(t *testing.T, hosts, vms int) *watch {
	t.Helper()
	w := &watch{TB: t, vc: vspheretest.Start(t, hosts, vms), steps: make(chan live.Step, 1<<12), ended: make(chan error, 1)}
	w.proxy = w.vc.Proxy(t)
	at := w.proxy.Address(t)
	w.password = at.Parameters["password"]
	s, of := enter(t, at, "")
	book := &inventory.NameIndex{}
	w.hand = hand.New(s, of, book)
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		w.ended <- inventory.NewSource(s, of, book).ReconnectSoon().Watch(ctx, func(s live.Step) error { w.steps <- s; return nil })
	}()
	t.Cleanup(func() {
		cancel()
		<-over
		w.proxy.Disturb(nil)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	w.first = w.await("the first step", func(live.Step) bool { return true })
	w.proxy.Await(t, "WaitForUpdatesEx", 2) // the first is answered with all objects
	return w
}

func enter(t *testing.T, at live.Address, path string) (*session.Session, types.ManagedObjectReference) {
	t.Helper()
	s, err := session.Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	of, err := inventory.Find(t.Context(), s, path)
	if err != nil {
		t.Fatal(err)
	}
	return s, of
}

// await takes steps until one is as wanted.
func (w *watch) await(what string, is func(live.Step) bool) live.Step {
	w.Helper()
	limit := time.After(20 * time.Second)
	for {
		select {
		case s := <-w.steps:
			if is(s) {
				return s
			}
		case err := <-w.ended:
			w.ended <- err
			w.Fatalf("the watch ended without %s: %v", what, err)
		case <-limit:
			w.Fatalf("no step with %s", what)
		}
	}
}

func (w *watch) awaitEvent(kind live.EventKind) (live.Event, live.Step) {
	w.Helper()
	var found live.Event
	step := w.await(string(kind), func(s live.Step) bool {
		at := slices.IndexFunc(s.Events, func(e live.Event) bool { return e.Kind == kind })
		if at >= 0 {
			found = s.Events[at]
		}
		return at >= 0
	})
	return found, step
}

func vm(c *cluster.Cluster, name string) *cluster.VM {
	for i := range c.VMs {
		if c.VMs[i].Name == name {
			return &c.VMs[i]
		}
	}
	return &cluster.VM{}
}

// object finds an object of the simulator by its name.
func object[T interface {
	Reference() types.ManagedObjectReference
}](w *watch, name string) T {
	var none T
	for _, o := range w.vc.Model.Map().All(strings.TrimPrefix(strings.TrimPrefix(typeName(none), "*simulator."), "simulator.")) {
		if o.Entity().Name == name {
			if found, is := o.(T); is {
				return found
			}
		}
	}
	w.Fatalf("the simulator has no %s", name)
	return none
}

func typeName(v any) string {
	switch v.(type) {
	case *simulator.VirtualMachine:
		return "VirtualMachine"
	case *simulator.HostSystem:
		return "HostSystem"
	}
	return "ClusterComputeResource"
}

func TestChangesAreSteps(t *testing.T) {
	t.Parallel()
	w := begin(t, 3, 2)
	one := object[*simulator.VirtualMachine](w, vmName)
	if v := vm(w.first.Cluster, vmName); v.VCPUs == 0 || v.Host == cluster.Nowhere || v.Demand.CPU.Count != 0 {
		t.Errorf("first %+v", v)
	}
	w.vc.Do(one.Self, types.PropertyChange{Name: "summary.quickStats.overallCpuDemand", Val: int32(700)})
	w.await("the demand", func(s live.Step) bool { return vm(s.Cluster, vmName).Demand.CPU.Recent == 700 })

	w.vc.Do(one.Self, types.PropertyChange{Name: "name", Val: "DC0_C0_RP0_VM1"})
	s := w.await("a shared name", func(s live.Step) bool { return vm(s.Cluster, vmName).VCPUs == 0 })
	if vm(s.Cluster, "DC0_C0_RP0_VM1 ("+one.Self.Value+")").VCPUs == 0 {
		t.Error("a VM that shares its name is not told apart")
	}
	w.vc.Do(one.Self, types.PropertyChange{Name: "name", Val: vmName})

	ref := object[*simulator.ClusterComputeResource](w, "DC0_C0").Self
	config := types.ClusterConfigInfoEx{Rule: []types.BaseClusterRuleInfo{&types.ClusterAntiAffinityRuleSpec{
		ClusterRuleInfo: types.ClusterRuleInfo{Name: "apart", Enabled: types.NewBool(true)},
		Vm:              []types.ManagedObjectReference{one.Self, object[*simulator.VirtualMachine](w, "DC0_C0_RP0_VM2").Self},
	}}}
	w.vc.Do(ref, types.PropertyChange{Name: "configurationEx", Val: &config})
	s = w.await("the rule", func(s live.Step) bool { return len(s.Cluster.Rules) == 1 && vm(s.Cluster, vmName).VCPUs > 0 })
	if r := s.Cluster.Rules[0]; r.Kind != cluster.Apart || !slices.Equal(r.VMs, []cluster.VMID{0, 2}) {
		t.Errorf("rule %+v", r)
	}
	w.vc.Remove(one.Self)
	w.await("one VM less", func(s live.Step) bool { return len(s.Cluster.VMs) == 5 })
	if len(w.first.Cluster.VMs) != 6 || vm(w.first.Cluster, vmName).Demand.CPU.Count != 0 {
		t.Error("the first step was changed")
	}
}

// A VM that is bound to CPUs or devices of its host is pinned. Devices of the host require that
// all memory is reserved; those of other VMs are not read.
func TestVMsBoundToTheirHostArePinned(t *testing.T) {
	t.Parallel()
	w := begin(t, 3, 1)
	one := object[*simulator.VirtualMachine](w, vmName)
	pinned := func(want bool) func(live.Step) bool {
		return func(s live.Step) bool { return vm(s.Cluster, vmName).Pinned == want }
	}
	w.vc.Do(one.Self, types.PropertyChange{Name: "config.cpuAffinity", Val: &types.VirtualMachineAffinityInfo{AffinitySet: []int32{2, 3}}})
	w.await("CPU affinity", pinned(true))
	w.vc.Do(one.Self, types.PropertyChange{Name: "config.cpuAffinity", Val: &types.VirtualMachineAffinityInfo{}})
	w.await("no CPU affinity", pinned(false))

	all, none := *one.Config.MemoryAllocation, *one.Config.MemoryAllocation
	all.Reservation, none.Reservation = types.NewInt64(int64(one.Config.Hardware.MemoryMB)), types.NewInt64(0)
	backing := func(migrates bool) types.BaseVirtualDeviceBackingInfo {
		return &types.VirtualPCIPassthroughVmiopBackingInfo{Vgpu: "v", MigrateSupported: types.NewBool(migrates)}
	}
	for _, c := range []struct {
		device types.BaseVirtualDevice
		want   bool
	}{
		{&types.VirtualPCIPassthrough{}, true}, {&types.VirtualSriovEthernetCard{}, true}, {&types.VirtualVmxnet3{}, false},
		{&types.VirtualPCIPassthrough{VirtualDevice: types.VirtualDevice{Backing: backing(true)}}, false},
		{&types.VirtualPCIPassthrough{VirtualDevice: types.VirtualDevice{Backing: backing(false)}}, true},
	} {
		w.vc.Do(one.Self, types.PropertyChange{Name: "config.hardware.device", Val: []types.BaseVirtualDevice{c.device}})
		w.vc.Do(one.Self, types.PropertyChange{Name: "config.memoryAllocation", Val: &all})
		s := w.await("all memory reserved", func(s live.Step) bool { return vm(s.Cluster, vmName).Mem.Reservation > 0 })
		if got := vm(s.Cluster, vmName); got.Pinned != c.want || got.Tied != c.want {
			t.Errorf("%T: pinned is %t, tied %t", c.device, got.Pinned, got.Tied)
		}
		w.vc.Do(one.Self, types.PropertyChange{Name: "config.memoryAllocation", Val: &none})
		w.await("no memory reserved", func(s live.Step) bool { return vm(s.Cluster, vmName).Mem.Reservation == 0 })
	}
}

func TestEventsTellWhoDidWhat(t *testing.T) {
	t.Parallel()
	w := begin(t, 3, 1)
	if err := w.hand.Maintain(t.Context(), "no such host", true); err == nil {
		t.Error("an unknown host enters maintenance")
	}
	from := w.first.Cluster.Hosts[vm(w.first.Cluster, vmName).Host].Name
	to := "DC0_C0_H1"
	if from == to {
		to = "DC0_C0_H2"
	}
	if err := w.hand.Move(t.Context(), vmName, to); err != nil {
		t.Fatal(err)
	}
	e, s := w.awaitEvent(live.VMMoved)
	if e.VM != vmName || e.From != from || e.Host != to || e.By != "operator" || e.At.IsZero() {
		t.Errorf("event %+v", e)
	}
	if at := vm(s.Cluster, vmName).Host; s.Cluster.Hosts[at].Name != to {
		t.Errorf("the step with the event has the VM on %s", s.Cluster.Hosts[at].Name)
	}
}

// A loss of the vCenter is told once, and so is its return, with what happened meanwhile.
func TestALossOfTheVCenterIsTold(t *testing.T) {
	t.Parallel()
	w := begin(t, 3, 1)
	w.proxy.Disturb(func(string) disturbance.Kind { return disturbance.Busy })
	w.vc.Expire(t)
	w.proxy.Cut()
	lost, s := w.awaitEvent(live.ControlLost)
	if lost.Text == "" || len(s.Cluster.VMs) != 3 {
		t.Errorf("event %+v with %d VMs", lost, len(s.Cluster.VMs))
	}
	other, of := enter(t, w.vc.Address(t), "DC0_C0")
	hosts := []string{"DC0_C0_H1", "DC0_C0_H2"}
	for _, to := range hosts {
		if err := hand.New(other, of, &inventory.NameIndex{}).Move(t.Context(), vmName, to); err != nil {
			t.Fatal(err)
		}
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	w.proxy.Disturb(nil)
	_, s = w.awaitEvent(live.ControlBack)
	if at := vm(s.Cluster, vmName).Host; s.Cluster.Hosts[at].Name != hosts[1] {
		t.Errorf("after the return, the VM is on %s", s.Cluster.Hosts[at].Name)
	}
	moved := slices.ContainsFunc(s.Events, func(e live.Event) bool { return e.Kind == live.VMMoved && e.Host == hosts[1] })
	again := 0
	for _, e := range s.Events {
		if e.Kind == live.ControlLost || e.Kind == live.ControlBack {
			again++
		}
	}
	if !moved || again != 1 {
		t.Errorf("events of the return: %+v", s.Events)
	}
	w.vc.Do(object[*simulator.VirtualMachine](w, vmName).Self, types.PropertyChange{Name: "runtime.powerState", Val: types.VirtualMachinePowerStatePoweredOff})
	w.await("a change after the return", func(s live.Step) bool { return vm(s.Cluster, vmName).Host == cluster.Nowhere })
}

func TestTruncatedUpdatesLoseNothing(t *testing.T) {
	t.Parallel()
	w := begin(t, 2, 1)
	w.proxy.Disturb(func(method string) disturbance.Kind {
		if method == "WaitForUpdatesEx" {
			return disturbance.Truncate
		}
		return disturbance.None
	})
	one := object[*simulator.VirtualMachine](w, vmName).Self
	w.vc.Do(one, types.PropertyChange{Name: "summary.quickStats.overallCpuDemand", Val: int32(700)}) // answers the call under way
	w.await("the demand", func(s live.Step) bool { return vm(s.Cluster, vmName).Demand.CPU.Recent == 700 })
	w.vc.Do(one, types.PropertyChange{Name: "runtime.powerState", Val: types.VirtualMachinePowerStatePoweredOff})
	w.awaitEvent(live.ControlLost)
	w.proxy.Disturb(nil)
	_, s := w.awaitEvent(live.ControlBack)
	if vm(s.Cluster, vmName).Host != cluster.Nowhere {
		t.Error("the change in the truncated reply is lost")
	}
}

func TestAnExpiredSessionIsNoEndOfAWatch(t *testing.T) {
	t.Parallel()
	w := begin(t, 2, 1)
	w.vc.Expire(t)
	w.proxy.Cut() // the pending call, which the simulator would leave waiting
	w.awaitEvent(live.ControlBack)
	if n := w.proxy.Calls("Login"); n != 2 {
		t.Errorf("%d logins", n)
	}
}

func TestAWatchEndsWithItsAccount(t *testing.T) {
	t.Parallel()
	w := begin(t, 2, 1)
	if err := os.WriteFile(strings.TrimPrefix(w.password, "file:"), []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.vc.Expire(t)
	w.proxy.Cut()
	select {
	case err := <-w.ended:
		w.ended <- err
		if err == nil || !strings.Contains(err.Error(), "refused the login of operator") {
			t.Errorf("the watch of a revoked account ends with %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the watch of a revoked account goes on")
	}
}

func TestAWatchEndsWithItsCluster(t *testing.T) {
	t.Parallel()
	w := begin(t, 2, 1)
	w.vc.Remove(object[*simulator.ClusterComputeResource](w, "DC0_C0").Self)
	select {
	case err := <-w.ended:
		w.ended <- err
		if err == nil || !strings.Contains(err.Error(), "the cluster no longer exists") {
			t.Errorf("the watch of a cluster that was deleted ends with %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the watch of a cluster that was deleted goes on")
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	vc := vspheretest.StartClusters(t, 3)
	s, err := session.Open(t.Context(), vc.Address(t))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"DC0/DC0_C1": "", "DC0_C2": "", "/DC0/DC0_C0/": "",
		"":           "has no cluster; the vCenter has DC0/DC0_C0, DC0/DC0_C1, DC0/DC0_C2",
		"DC0/DC0_C9": "no cluster DC0/DC0_C9; the vCenter has DC0/DC0_C0",
		"C0":         "no cluster C0",
	} {
		of, err := inventory.Find(t.Context(), s, path)
		if want == "" && (err != nil || of.Type != "ClusterComputeResource") {
			t.Errorf("%q is %v, %v", path, of, err)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q gives %v, want an error with %q", path, err, want)
		}
		if mistake := (*live.Mistake)(nil); errors.As(err, &mistake) != (want != "") {
			t.Errorf("%q gives %v, want a mistake in the address: %t", path, err, want != "")
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := inventory.Find(ctx, s, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
}
