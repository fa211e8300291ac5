package sim_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// watch is a collector with a filter for all VMs.
type watch struct {
	*bed
	pc      types.ManagedObjectReference
	version string
}

func (b *bed) watch(container types.ManagedObjectReference, paths ...string) *watch {
	b.Helper()
	v, err := view.NewManager(b.Client.Client).CreateContainerView(b.ctx, container, []string{"VirtualMachine"}, true)
	if err != nil {
		b.Fatal(err)
	}
	pc, err := property.DefaultCollector(b.Client.Client).Create(b.ctx)
	if err != nil {
		b.Fatal(err)
	}
	_, err = pc.CreateFilter(b.ctx, types.CreateFilter{Spec: types.PropertyFilterSpec{
		PropSet: []types.PropertySpec{{Type: "VirtualMachine", PathSet: paths}},
		ObjectSet: []types.ObjectSpec{{Obj: v.Reference(), Skip: types.NewBool(true), SelectSet: []types.BaseSelectionSpec{
			&types.TraversalSpec{Type: "ContainerView", Path: "view"},
		}}},
	}})
	if err != nil {
		b.Fatal(err)
	}
	return &watch{b, pc.Reference(), ""}
}

// next is what has changed, within so many seconds.
func (w *watch) next(seconds int32) (list []types.ObjectUpdate) {
	w.Helper()
	for {
		r, err := methods.WaitForUpdatesEx(w.ctx, w.Client, &types.WaitForUpdatesEx{This: w.pc, Version: w.version, Options: &types.WaitOptions{MaxWaitSeconds: &seconds}})
		if err != nil {
			w.Fatal(err)
		}
		if r.Returnval == nil {
			return list
		}
		w.version = r.Returnval.Version
		for _, f := range r.Returnval.FilterSet {
			list = append(list, f.ObjectSet...)
		}
		if r.Returnval.Truncated == nil || !*r.Returnval.Truncated {
			return list
		}
	}
}

func TestChangesAreReportedOnce(t *testing.T) {
	t.Parallel()
	b := newBed(t, 4, 130)
	w := b.watch(b.ServiceContent.RootFolder, "name", "runtime.powerState", "config.hardware.numCPU")
	first := w.next(10)
	if len(first) != 130 {
		t.Fatalf("%d objects at first, want 130", len(first))
	}
	for _, u := range first {
		if u.Kind != types.ObjectUpdateKindEnter || len(u.ChangeSet) != 3 {
			t.Fatalf("at first %s with %d properties", u.Kind, len(u.ChangeSet))
		}
	}
	if more := w.next(0); len(more) != 0 {
		t.Errorf("reported again: %v", more)
	}
	name, m := b.some()
	v := b.vm(name)
	b.done(v.PowerOff(b.ctx))
	list := w.next(10)
	if len(list) != 1 || list[0].Kind != types.ObjectUpdateKindModify || list[0].Obj != m.Self || len(list[0].ChangeSet) != 1 || list[0].ChangeSet[0].Val != types.VirtualMachinePowerStatePoweredOff {
		t.Errorf("after power off: %+v", list)
	}
	b.done(v.Reconfigure(b.ctx, types.VirtualMachineConfigSpec{NumCPUs: 8, NumCoresPerSocket: types.NewInt32(1)}))
	if list := w.next(10); len(list) != 1 || len(list[0].ChangeSet) != 1 || list[0].ChangeSet[0].Val != int32(8) {
		t.Errorf("after a reconfiguration: %+v", list)
	}
	b.done(v.Reconfigure(b.ctx, types.VirtualMachineConfigSpec{MemoryMB: 4096}))
	if list := w.next(0); len(list) != 0 {
		t.Errorf("a property that was not asked for is reported: %+v", list)
	}
	b.done(v.Destroy(b.ctx))
	if list := w.next(10); len(list) != 1 || list[0].Kind != types.ObjectUpdateKindLeave || list[0].Obj != m.Self {
		t.Errorf("after a removal: %+v", list)
	}
}

// A filter that names an entry of a list is told whether it was added, changed or removed, and not of others.
func TestEntriesOfLists(t *testing.T) {
	t.Parallel()
	b := newBed(t, 2, 4)
	name, _ := b.some()
	v := b.vm(name)
	const path = `config.extraConfig["guestinfo.a"].value`
	w := b.watch(b.ServiceContent.RootFolder, path)
	for _, u := range w.next(10) {
		if len(u.ChangeSet) != 1 || u.ChangeSet[0].Val != nil {
			t.Fatalf("at first %+v, want an entry without a value", u)
		}
	}
	for i, k := range []struct {
		key, value string
		op         types.PropertyChangeOp // empty for no update
	}{
		{"guestinfo.a", "1", types.PropertyChangeOpAdd}, {"guestinfo.b", "1", ""}, {"guestinfo.a", "2", types.PropertyChangeOpAssign},
		{"guestinfo.b", "", ""}, {"guestinfo.a", "", types.PropertyChangeOpRemove}, {"guestinfo.a", "3", types.PropertyChangeOpAdd},
	} {
		b.done(v.Reconfigure(b.ctx, types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: k.key, Value: k.value}}}))
		list := w.next(0)
		if k.op == "" {
			if len(list) != 0 {
				t.Errorf("change %d of another entry is reported: %+v", i, list)
			}
			continue
		}
		if len(list) == 0 || list[0].ChangeSet[0].Op != k.op || list[0].ChangeSet[0].Name != path || k.value != "" && list[0].ChangeSet[0].Val != k.value {
			t.Errorf("after change %d: %+v, want %s", i, list, k.op)
		}
	}
}

func TestNewVMsEnterViews(t *testing.T) {
	t.Parallel()
	b := newBed(t, 4, 20)
	name, m := b.some()
	dc, _ := find.NewFinder(b.Client.Client).DefaultDatacenter(b.ctx)
	folders, _ := dc.Folders(b.ctx)
	to := b.elsewhere(m)
	everywhere, there := b.watch(b.ServiceContent.RootFolder, "name"), b.watch(to.Self, "name")
	everywhere.next(10)
	there.next(10)
	spec := types.VirtualMachineCloneSpec{}
	spec.Location.Host = &to.Self
	info := b.done(b.vm(name).Clone(b.ctx, folders.VmFolder, "copy", spec))
	for _, w := range []*watch{everywhere, there} {
		if list := w.next(10); len(list) != 1 || list[0].Kind != types.ObjectUpdateKindEnter || list[0].Obj != info.Result || list[0].ChangeSet[0].Val != "copy" {
			t.Errorf("after a clone: %+v", list)
		}
	}
	b.done(b.vm("copy").Relocate(b.ctx, types.VirtualMachineRelocateSpec{Host: m.Runtime.Host}, types.VirtualMachineMovePriorityDefaultPriority))
	if list := there.next(10); len(list) != 1 || list[0].Kind != types.ObjectUpdateKindLeave {
		t.Errorf("after it has left the host: %+v", list)
	}
	if list := everywhere.next(0); len(list) != 0 {
		t.Errorf("a move within a view: %+v", list)
	}
}

func TestWaitsEnd(t *testing.T) {
	t.Parallel()
	b := newBed(t, 2, 4)
	w := b.watch(b.ServiceContent.RootFolder, "runtime.powerState")
	w.next(10)
	ended := make(chan error)
	wait := func() {
		_, err := methods.WaitForUpdatesEx(context.Background(), b.Client, &types.WaitForUpdatesEx{This: w.pc, Version: w.version})
		ended <- err
	}
	go wait()
	deadline := time.Now().Add(20 * time.Second)
	for over := false; !over; { // a cancellation that comes before the wait has no effect
		if _, err := methods.CancelWaitForUpdates(b.ctx, b.Client, &types.CancelWaitForUpdates{This: w.pc}); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-ended:
			over = true
			if !fault.Is(err, &types.RequestCanceled{}) {
				t.Errorf("a cancelled wait gives %v", err)
			}
		default:
			if time.Now().After(deadline) {
				t.Fatal("the wait did not end")
			}
		}
	}
	if _, err := methods.WaitForUpdatesEx(b.ctx, b.Client, &types.WaitForUpdatesEx{This: w.pc, Version: "99"}); !fault.Is(err, &types.InvalidCollectorVersion{}) {
		t.Errorf("a version of the future gives %v", err)
	}
	if _, err := methods.DestroyPropertyCollector(b.ctx, b.Client, &types.DestroyPropertyCollector{This: w.pc}); err != nil {
		t.Error(err)
	}
}

func TestPropertiesByPath(t *testing.T) {
	t.Parallel()
	b := newBed(t, 2, 6)
	name, _ := b.some()
	v := b.vm(name)
	b.done(v.Reconfigure(b.ctx, types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: "guestinfo.color", Value: "blue"}}}))
	pc := property.DefaultCollector(b.Client.Client)
	r, err := pc.RetrieveProperties(b.ctx, types.RetrieveProperties{SpecSet: []types.PropertyFilterSpec{{
		PropSet:   []types.PropertySpec{{Type: "ManagedEntity", PathSet: []string{"name"}}, {Type: "VirtualMachine", PathSet: []string{`config.extraConfig["guestinfo.color"].value`, "config.nothing", "snapshot", "datastore"}}},
		ObjectSet: []types.ObjectSpec{{Obj: v.Reference()}},
	}}})
	if err != nil || len(r.Returnval) != 1 {
		t.Fatalf("%v, %v", r, err)
	}
	got := r.Returnval[0]
	values := map[string]types.AnyType{}
	for _, p := range got.PropSet {
		values[p.Name] = p.Val
	}
	if values["name"] != name || values[`config.extraConfig["guestinfo.color"].value`] != "blue" || len(got.MissingSet) != 1 || got.MissingSet[0].Path != "config.nothing" {
		t.Errorf("read %v, missing %v", values, got.MissingSet)
	}
	if _, ok := values["snapshot"]; ok {
		t.Error("a property that is not set is reported")
	}
	if list, ok := values["datastore"].(types.ArrayOfManagedObjectReference); !ok || len(list.ManagedObjectReference) == 0 {
		t.Errorf("the list of datastores is %T", values["datastore"])
	}
	missing := types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-none"}
	var m mo.VirtualMachine
	if err := pc.RetrieveOne(b.ctx, missing, nil, &m); !fault.Is(err, &types.ManagedObjectNotFound{}) {
		t.Errorf("an object that does not exist gives %v", err)
	}
}

func TestRepliesHavePages(t *testing.T) {
	t.Parallel()
	b := newBed(t, 2, 30)
	v, err := view.NewManager(b.Client.Client).CreateContainerView(b.ctx, b.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
	if err != nil {
		t.Fatal(err)
	}
	request := types.RetrievePropertiesEx{This: b.ServiceContent.PropertyCollector, Options: types.RetrieveOptions{MaxObjects: 7}, SpecSet: []types.PropertyFilterSpec{{
		PropSet: []types.PropertySpec{{Type: "VirtualMachine", PathSet: []string{"name"}}},
		ObjectSet: []types.ObjectSpec{{Obj: v.Reference(), Skip: types.NewBool(true), SelectSet: []types.BaseSelectionSpec{
			&types.TraversalSpec{Type: "ContainerView", Path: "view"},
		}}},
	}}}
	r, err := methods.RetrievePropertiesEx(b.ctx, b.Client, &request)
	if err != nil {
		t.Fatal(err)
	}
	result, names, pages := *r.Returnval, []string{}, 1
	for {
		for _, o := range result.Objects {
			names = append(names, o.PropSet[0].Val.(string))
		}
		if result.Token == "" {
			break
		}
		more, err := methods.ContinueRetrievePropertiesEx(b.ctx, b.Client, &types.ContinueRetrievePropertiesEx{This: request.This, Token: result.Token})
		if err != nil {
			t.Fatal(err)
		}
		result, pages = more.Returnval, pages+1
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != 30 || pages != 5 {
		t.Errorf("%d VMs on %d pages, want 30 on 5", len(names), pages)
	}
}
