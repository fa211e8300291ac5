package vsphere_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/live"
	"plimsoll/internal/vsphere/disturbance"
	"plimsoll/internal/vsphere/hand"
	"plimsoll/internal/vsphere/inventory"
	"plimsoll/internal/vsphere/session"
	"plimsoll/internal/vsphere/vspheretest"
)

const (
	vmName = "DC0_C0_RP0_VM0"
	source = "DC0_C0_H0"
	target = "DC0_C0_H1"
)

// bench is a cluster of three hosts, with the VM on the source.
type bench struct {
	vc    *vspheretest.VCenter
	proxy *vspheretest.Proxy
	hand  *hand.Hand
	vm    *simulator.VirtualMachine
}

func start(t *testing.T) bench {
	t.Helper()
	b := bench{vc: vspheretest.Start(t, 3, 1)}
	b.proxy = b.vc.Proxy(t)
	b.hand = b.open(t, b.proxy.Address(t))
	for _, o := range b.vc.Model.Map().All("VirtualMachine") {
		if vm := o.(*simulator.VirtualMachine); vm.Name == vmName {
			b.vm = vm
		}
	}
	if err := b.open(t, b.vc.Address(t)).Move(t.Context(), vmName, source); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b bench) open(t *testing.T, at live.Address) *hand.Hand {
	t.Helper()
	s, err := session.Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.proxy.Disturb(nil)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	of, err := inventory.Find(t.Context(), s, "")
	if err != nil {
		t.Fatal(err)
	}
	return hand.New(s, of, &inventory.NameIndex{})
}

// host is where the simulator has the VM.
func (b bench) host() (name string) {
	ctx := *b.vc.Model.Service.Context
	ctx.WithLock(b.vm, func() { name = ctx.Map.Get(*b.vm.Runtime.Host).(*simulator.HostSystem).Name })
	return name
}

// once disturbs the first call of a method.
func (b bench) once(method string, with disturbance.Kind) {
	var done atomic.Bool
	b.proxy.Disturb(func(called string) disturbance.Kind {
		if called == method && done.CompareAndSwap(false, true) {
			return with
		}
		return disturbance.None
	})
}

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error %v, want one with %q", err, part)
		}
	}
}

func TestVMsThatAreOffAreRelocated(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.vc.Do(b.vm.Self, types.PropertyChange{Name: "runtime.powerState", Val: types.VirtualMachinePowerStatePoweredOff})
	if err := b.hand.Move(t.Context(), vmName, target); err != nil || b.host() != target {
		t.Errorf("move gives %v, the VM is on %s", err, b.host())
	}
	if b.proxy.Calls("RelocateVM_Task") != 1 || b.proxy.Calls("MigrateVM_Task") > 1 {
		t.Errorf("%d relocations, %d migrations", b.proxy.Calls("RelocateVM_Task"), b.proxy.Calls("MigrateVM_Task"))
	}
	calls := b.proxy.Calls("RelocateVM_Task")
	if err := b.hand.Move(t.Context(), vmName, target); err != nil || b.proxy.Calls("RelocateVM_Task") != calls {
		t.Errorf("a VM that is there is moved again: %v", err)
	}
}

func TestAMoveThatFailsHalfWayIsExplained(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.vc.Fail(&types.InsufficientMemoryResourcesFault{})
	err := b.hand.Move(t.Context(), vmName, target)
	wantError(t, err, "move "+vmName+" to "+target, "failed half-way")
	if b.host() != source {
		t.Errorf("the VM is on %s", b.host())
	}
}

func TestATaskThatNeverEndsIsCancelled(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.vc.Hold(true)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	err := b.hand.Move(ctx, vmName, target)
	wantError(t, err, "the task was cancelled", "move "+vmName)
	if !errors.Is(err, context.DeadlineExceeded) || b.proxy.Calls("CancelTask") != 1 {
		t.Errorf("%v after %d calls of CancelTask", err, b.proxy.Calls("CancelTask"))
	}
	if b.host() != source {
		t.Errorf("the VM is on %s", b.host())
	}
}

func TestALostReplyDoesNotLoseTheMove(t *testing.T) {
	t.Parallel()
	b := start(t)
	for name, c := range map[string]struct {
		method  string
		trouble disturbance.Kind
	}{
		"reply of the start lost":      {"MigrateVM_Task", disturbance.LoseReply},
		"reply of the start truncated": {"MigrateVM_Task", disturbance.Truncate},
		"updates lost":                 {"WaitForUpdatesEx", disturbance.LoseReply},
		"updates truncated":            {"WaitForUpdatesEx", disturbance.Truncate},
		"vCenter busy":                 {"CreateListView", disturbance.Busy},
	} {
		begun := b.proxy.Calls("MigrateVM_Task")
		b.once(c.method, c.trouble)
		to := target
		if b.host() == target {
			to = source
		}
		err := b.hand.Move(t.Context(), vmName, to)
		if err != nil || b.host() != to {
			t.Errorf("%s: the move gives %v, the VM is on %s", name, err, b.host())
		}
		if n := b.proxy.Calls("MigrateVM_Task") - begun; n != 1 {
			t.Errorf("%s: the migration was started %d times", name, n)
		}
	}
}

func TestACallThatWasNeverSeenIsNoMove(t *testing.T) {
	t.Parallel()
	b := start(t)
	begun := b.proxy.Calls("MigrateVM_Task")
	b.once("MigrateVM_Task", disturbance.Refuse)
	err := b.hand.Move(t.Context(), vmName, target)
	wantError(t, err, "the VM is not there")
	if n := b.proxy.Calls("MigrateVM_Task") - begun; n != 1 || b.host() != source {
		t.Errorf("%d migrations, the VM is on %s", n, b.host())
	}
}

// A restart of the vCenter ends sessions, and with them views and collectors. Tasks go on.
func TestAMoveSurvivesARestart(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.vc.Hold(true)
	ended := make(chan error, 1)
	go func() { ended <- b.hand.Move(t.Context(), vmName, target) }()
	b.proxy.Await(t, "WaitForUpdatesEx", 1)
	down := atomic.Bool{}
	down.Store(true)
	b.proxy.Disturb(func(string) disturbance.Kind {
		if down.Load() {
			return disturbance.Busy
		}
		return disturbance.None
	})
	b.vc.Expire(t)
	b.proxy.Cut()
	b.proxy.Await(t, "CreateListView", 2)
	finish(t, b)
	down.Store(false)
	if err := <-ended; err != nil {
		t.Errorf("move across a restart: %v", err)
	}
	if b.host() != target || b.proxy.Calls("Login") < 2 {
		t.Errorf("the VM is on %s after %d logins", b.host(), b.proxy.Calls("Login"))
	}
}

// finish has the held migration succeed.
func finish(t *testing.T, b bench) {
	t.Helper()
	m := b.vc.Model.Map()
	var to, ref types.ManagedObjectReference
	for _, o := range m.All("HostSystem") {
		if h := o.(*simulator.HostSystem); h.Name == target {
			to = h.Self
		}
	}
	ctx := *b.vc.Model.Service.Context
	ctx.WithLock(b.vm, func() { ref = b.vm.RecentTask[len(b.vm.RecentTask)-1] })
	b.vc.Do(b.vm.Self, types.PropertyChange{Name: "runtime.host", Val: &to})
	b.vc.Do(ref, types.PropertyChange{Name: "info.completeTime", Val: time.Now()}, types.PropertyChange{Name: "info.state", Val: types.TaskInfoStateSuccess})
}

// A vCenter that restarts may forget its tasks: what they did is read from the VM.
func TestAForgottenTaskIsReadBack(t *testing.T) {
	t.Parallel()
	beds := map[bool]bench{true: start(t), false: start(t)}
	for moved, b := range beds {
		b.vc.Hold(true)
		ended := make(chan error, 1)
		waits := b.proxy.Calls("WaitForUpdatesEx")
		go func() { ended <- b.hand.Move(t.Context(), vmName, target) }()
		b.proxy.Await(t, "WaitForUpdatesEx", waits+2) // the first tells that the task runs
		ctx := *b.vc.Model.Service.Context
		var ref types.ManagedObjectReference
		ctx.WithLock(b.vm, func() { ref = b.vm.RecentTask[len(b.vm.RecentTask)-1] })
		if moved {
			for _, o := range b.vc.Model.Map().All("HostSystem") {
				if h := o.(*simulator.HostSystem); h.Name == target {
					b.vc.Do(b.vm.Self, types.PropertyChange{Name: "runtime.host", Val: &h.Self})
				}
			}
		}
		b.vc.Remove(ref)
		err := <-ended
		if moved && err != nil {
			t.Errorf("the VM has moved, and the move gives %v", err)
		}
		if !moved {
			wantError(t, err, "no longer knows the task", "the VM is not there")
		}
	}
}

func TestAVMThatIsDeletedUnderTheMove(t *testing.T) {
	t.Parallel()
	b := start(t)
	if _, err := b.hand.Missing(t.Context(), live.Move); err != nil { // which learns the names
		t.Fatal(err)
	}
	b.vc.Remove(b.vm.Self)
	wantError(t, b.hand.Move(t.Context(), vmName, target), vmName+" no longer exists")
}

func TestMissingPrivilegesAreNamed(t *testing.T) {
	t.Parallel()
	vc := vspheretest.Start(t, 3, 2)
	at := vc.Address(t)
	at.User = "reader"
	s, err := session.Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	of, err := inventory.Find(t.Context(), s, "DC0/DC0_C0")
	if err != nil {
		t.Fatal(err)
	}
	h := hand.New(s, of, &inventory.NameIndex{})
	for action, want := range map[live.Action]string{
		live.Read:     "",
		live.Move:     "Resource.HotMigrate on DC0_C0_RP0_VM0, DC0_C0_RP0_VM1, DC0_C0_RP0_VM2 and 3 more; Resource.ColdMigrate on DC0_C0_RP0_VM0, DC0_C0_RP0_VM1, DC0_C0_RP0_VM2 and 3 more",
		live.Maintain: "Host.Config.Maintenance on DC0_C0_H0, DC0_C0_H1, DC0_C0_H2",
	} {
		missing, err := h.Missing(t.Context(), action)
		if got := strings.Join(missing, "; "); err != nil || got != want {
			t.Errorf("%s misses %q, %v; want %q", action, got, err, want)
		}
	}
	if _, err := h.Missing(t.Context(), "fly"); err == nil {
		t.Error("an unknown action needs nothing")
	}
	err = h.Move(t.Context(), vmName, target)
	if err == nil {
		err = h.Move(t.Context(), vmName, source)
	}
	wantError(t, err, "lacks the privilege Resource.HotMigrate")
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestMaintenance(t *testing.T) {
	t.Parallel()
	b := start(t)
	wantError(t, b.hand.Maintain(t.Context(), source, true), vmName, "still run there")
	for _, vm := range []string{"DC0_C0_RP0_VM0", "DC0_C0_RP0_VM1", "DC0_C0_RP0_VM2"} {
		if err := b.hand.Move(t.Context(), vm, target); err != nil {
			t.Fatal(err)
		}
	}
	b.once("EnterMaintenanceMode_Task", disturbance.LoseReply)
	if err := b.hand.Maintain(t.Context(), source, true); err != nil {
		t.Errorf("with a lost reply: %v", err)
	}
	wantError(t, b.hand.Move(t.Context(), vmName, source), "the host is in maintenance")
	b.vc.Hold(true)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	wantError(t, b.hand.Maintain(ctx, source, false), "take host "+source+" out of maintenance", "cancelled")
	b.vc.Hold(false)
	if err := b.hand.Maintain(t.Context(), source, false); err != nil {
		t.Error(err)
	}
}

// All tasks share one collector, whatever their number.
func TestManyMovesShareOneCollector(t *testing.T) {
	t.Parallel()
	b := start(t)
	collectors := b.proxy.Calls("CreatePropertyCollector")
	var all sync.WaitGroup
	for _, vm := range []string{"DC0_C0_RP0_VM0", "DC0_C0_RP0_VM1", "DC0_C0_RP0_VM2"} {
		all.Go(func() {
			for _, to := range []string{target, "DC0_C0_H2", source, target} {
				if err := b.hand.Move(t.Context(), vm, to); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if n := b.proxy.Calls("CreatePropertyCollector") - collectors; n > 12 {
		t.Errorf("%d collectors for 12 moves", n)
	}
}
