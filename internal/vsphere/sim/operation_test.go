package sim_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// bed is a simulator with a client.
type bed struct {
	testing.TB
	*govmomi.Client
	ctx context.Context
}

func newBed(t testing.TB, hosts, vms int) *bed {
	_, c := serve(t, lab(hosts, vms))
	return &bed{t, c, context.Background()}
}

// done waits for a task, and fails with it.
func (b *bed) done(task *object.Task, err error) *types.TaskInfo {
	b.Helper()
	info, err := b.try(task, err)
	if err != nil {
		b.Fatal(err)
	}
	return info
}

func (b *bed) try(task *object.Task, err error) (*types.TaskInfo, error) {
	if err != nil {
		return nil, err
	}
	return task.WaitForResult(b.ctx)
}

// refused checks that a task fails with a fault.
func refused[F types.BaseMethodFault](b *bed, task *object.Task, err error) {
	b.Helper()
	_, err = b.try(task, err)
	var want F
	if _, is := fault.As(err, &want); err == nil || is == false {
		b.Errorf("got %v, want %T", err, want)
	}
}

func (b *bed) vm(name string) *object.VirtualMachine {
	b.Helper()
	f := find.NewFinder(b.Client.Client)
	dc, err := f.DefaultDatacenter(b.ctx)
	if err != nil {
		b.Fatal(err)
	}
	v, err := f.SetDatacenter(dc).VirtualMachine(b.ctx, name)
	if err != nil {
		b.Fatal(err)
	}
	return v
}

// see reads a VM.
func (b *bed) see(v object.Reference) mo.VirtualMachine {
	b.Helper()
	var m mo.VirtualMachine
	if err := b.RetrieveOne(b.ctx, v.Reference(), nil, &m); err != nil {
		b.Fatal(err)
	}
	return m
}

// consistent checks that hosts, pools, datastores, networks and the folder list exactly the VMs that refer to them.
func (b *bed) consistent() {
	b.Helper()
	var vms []mo.VirtualMachine
	all(b, b.Client, "VirtualMachine", []string{"name", "runtime.host", "resourcePool", "datastore", "network", "parent"}, &vms)
	want := map[string][]string{}
	for _, v := range vms {
		places := append([]types.ManagedObjectReference{*v.Runtime.Host, *v.Parent}, v.Datastore...)
		if v.ResourcePool != nil {
			places = append(places, *v.ResourcePool)
		}
		for _, at := range append(places, v.Network...) {
			want[at.Value] = append(want[at.Value], v.Self.Value)
		}
	}
	got := map[string][]string{}
	note := func(at types.ManagedObjectReference, list []types.ManagedObjectReference) {
		for _, v := range list {
			if v.Type == "VirtualMachine" {
				got[at.Value] = append(got[at.Value], v.Value)
			}
		}
	}
	var hosts []mo.HostSystem
	all(b, b.Client, "HostSystem", []string{"vm"}, &hosts)
	for _, h := range hosts {
		note(h.Self, h.Vm)
	}
	var pools []mo.ResourcePool
	all(b, b.Client, "ResourcePool", []string{"vm"}, &pools)
	for _, p := range pools {
		note(p.Self, p.Vm)
	}
	var stores []mo.Datastore
	all(b, b.Client, "Datastore", []string{"vm"}, &stores)
	for _, d := range stores {
		note(d.Self, d.Vm)
	}
	var nets []mo.Network
	all(b, b.Client, "Network", []string{"vm"}, &nets)
	for _, n := range nets {
		note(n.Self, n.Vm)
	}
	var folders []mo.Folder
	all(b, b.Client, "Folder", []string{"childEntity"}, &folders)
	for _, f := range folders {
		note(f.Self, f.ChildEntity)
	}
	for _, m := range []map[string][]string{want, got} {
		for _, list := range m {
			slices.Sort(list)
		}
	}
	for at := range want {
		if !slices.Equal(want[at], got[at]) {
			b.Errorf("%s lists %d VMs, and %d refer to it: %v and %v", at, len(got[at]), len(want[at]), got[at], want[at])
		}
	}
	for at := range got {
		if want[at] == nil {
			b.Errorf("%s lists %v, and none refers to it", at, got[at])
		}
	}
}

// names of two running VMs and a VM's other host.
func (b *bed) some() (string, mo.VirtualMachine) {
	b.Helper()
	var vms []mo.VirtualMachine
	all(b, b.Client, "VirtualMachine", []string{"name", "runtime", "datastore", "network"}, &vms)
	for _, v := range vms {
		if v.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn {
			return v.Name, v
		}
	}
	b.Fatal("no VM runs")
	return "", mo.VirtualMachine{}
}

// elsewhere is another host that a VM can run on.
func (b *bed) elsewhere(v mo.VirtualMachine) mo.HostSystem {
	b.Helper()
	var hosts []mo.HostSystem
	all(b, b.Client, "HostSystem", []string{"name", "datastore", "network"}, &hosts)
	for _, h := range hosts {
		fits := h.Self != *v.Runtime.Host
		for _, d := range v.Datastore {
			fits = fits && slices.Contains(h.Datastore, d)
		}
		for _, n := range v.Network {
			fits = fits && slices.Contains(h.Network, n)
		}
		if fits {
			return h
		}
	}
	b.Fatal("no other host fits")
	return mo.HostSystem{}
}

func (b *bed) lastEvent(of types.ManagedObjectReference, kind string) types.BaseEvent {
	b.Helper()
	r, err := methods.QueryEvents(b.ctx, b.Client, &types.QueryEvents{This: *b.ServiceContent.EventManager, Filter: types.EventFilterSpec{
		Entity: &types.EventFilterSpecByEntity{Entity: of, Recursion: types.EventFilterSpecRecursionOptionSelf}, EventTypeId: []string{kind},
	}})
	if err != nil {
		b.Fatal(err)
	}
	if len(r.Returnval) == 0 {
		b.Fatalf("no %s", kind)
	}
	return r.Returnval[0]
}

func TestPowerOperations(t *testing.T) {
	t.Parallel()
	b := newBed(t, 3, 12)
	name, _ := b.some()
	v := b.vm(name)
	state := func(want types.VirtualMachinePowerState) {
		t.Helper()
		if m := b.see(v); m.Runtime.PowerState != want || m.Summary.Runtime.PowerState != want {
			t.Errorf("is %s and %s, want %s", m.Runtime.PowerState, m.Summary.Runtime.PowerState, want)
		}
	}
	on := func() (*object.Task, error) { return v.PowerOn(b.ctx) }
	task, err := on()
	refused[*types.InvalidPowerState](b, task, err)
	b.done(v.PowerOff(b.ctx))
	state(types.VirtualMachinePowerStatePoweredOff)
	task, err = v.PowerOff(b.ctx)
	refused[*types.InvalidPowerState](b, task, err)
	task, err = v.Suspend(b.ctx)
	refused[*types.InvalidPowerState](b, task, err)
	b.done(on())
	state(types.VirtualMachinePowerStatePoweredOn)
	b.done(v.Reset(b.ctx))
	b.done(v.Suspend(b.ctx))
	state(types.VirtualMachinePowerStateSuspended)
	b.done(on())
	if e := b.lastEvent(v.Reference(), "VmPoweredOnEvent").GetEvent(); !strings.Contains(e.FullFormattedMessage, name) || e.UserName != "operator" {
		t.Errorf("the event says %q by %q", e.FullFormattedMessage, e.UserName)
	}
	b.consistent()
}

func TestMoves(t *testing.T) {
	t.Parallel()
	b := newBed(t, 6, 40)
	name, m := b.some()
	v, to := b.vm(name), b.elsewhere(m)
	host := object.NewHostSystem(b.Client.Client, to.Self)
	b.done(v.Migrate(b.ctx, nil, host, types.VirtualMachineMovePriorityDefaultPriority, types.VirtualMachinePowerStatePoweredOn))
	if got := b.see(v); *got.Runtime.Host != to.Self || *got.Summary.Runtime.Host != to.Self {
		t.Errorf("is on %s, want %s", got.Runtime.Host, to.Self)
	}
	e := b.lastEvent(v.Reference(), "VmMigratedEvent").(*types.VmMigratedEvent)
	if e.Host.Host != to.Self || e.SourceHost.Host != *m.Runtime.Host {
		t.Errorf("the event says from %v to %v", e.SourceHost, e.Host)
	}
	b.consistent()
	task, err := v.Migrate(b.ctx, nil, host, types.VirtualMachineMovePriorityDefaultPriority, types.VirtualMachinePowerStatePoweredOff)
	refused[*types.InvalidPowerState](b, task, err)
	back := m.Runtime.Host
	b.done(v.Relocate(b.ctx, types.VirtualMachineRelocateSpec{Host: back}, types.VirtualMachineMovePriorityDefaultPriority))
	var h mo.HostSystem
	if err := b.RetrieveOne(b.ctx, to.Self, []string{"datastore"}, &h); err != nil {
		t.Fatal(err)
	}
	b.done(v.Relocate(b.ctx, types.VirtualMachineRelocateSpec{Host: &to.Self, Datastore: &h.Datastore[len(h.Datastore)-1]}, types.VirtualMachineMovePriorityDefaultPriority))
	if got := b.see(v); len(got.Datastore) != 1 || got.Datastore[0] != h.Datastore[len(h.Datastore)-1] {
		t.Errorf("is on datastores %v", got.Datastore)
	}
	b.consistent()
	missing := types.ManagedObjectReference{Type: "HostSystem", Value: "host-none"}
	task, err = v.Relocate(b.ctx, types.VirtualMachineRelocateSpec{Host: &missing}, types.VirtualMachineMovePriorityDefaultPriority)
	refused[*types.ManagedObjectNotFound](b, task, err)
	missing.Type = "Datastore"
	task, err = v.Relocate(b.ctx, types.VirtualMachineRelocateSpec{Datastore: &missing}, types.VirtualMachineMovePriorityDefaultPriority)
	refused[*types.ManagedObjectNotFound](b, task, err)
}

func TestCloneAndDestroy(t *testing.T) {
	t.Parallel()
	b := newBed(t, 4, 20)
	name, _ := b.some()
	v := b.vm(name)
	dc, _ := find.NewFinder(b.Client.Client).DefaultDatacenter(b.ctx)
	folders, err := dc.Folders(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	cpus := types.VirtualMachineConfigSpec{NumCPUs: 2, NumCoresPerSocket: types.NewInt32(1)}
	info := b.done(v.Clone(b.ctx, folders.VmFolder, "copy", types.VirtualMachineCloneSpec{PowerOn: true, Config: &cpus}))
	ref := info.Result.(types.ManagedObjectReference)
	made, source := b.see(ref), b.see(v)
	if made.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn || made.Config.Hardware.NumCPU != 2 || made.Name != "copy" || made.Config.Uuid == source.Config.Uuid {
		t.Errorf("the clone is %s with %d vCPUs, named %s", made.Runtime.PowerState, made.Config.Hardware.NumCPU, made.Name)
	}
	if !strings.Contains(made.Config.Files.VmPathName, "] copy/copy.vmx") || *made.Summary.Vm != ref {
		t.Errorf("the clone's file is %s, its summary of %s", made.Config.Files.VmPathName, made.Summary.Vm)
	}
	b.consistent()
	task, err := v.Clone(b.ctx, folders.VmFolder, "copy", types.VirtualMachineCloneSpec{})
	refused[*types.DuplicateName](b, task, err)
	copied := object.NewVirtualMachine(b.Client.Client, ref)
	task, err = copied.Destroy(b.ctx)
	refused[*types.InvalidPowerState](b, task, err)
	b.done(copied.PowerOff(b.ctx))
	b.done(copied.Destroy(b.ctx))
	b.consistent()
	if _, err := copied.PowerOn(b.ctx); !fault.Is(err, &types.ManagedObjectNotFound{}) {
		t.Errorf("power on of what was destroyed gives %v", err)
	}
	b.done(v.Clone(b.ctx, folders.VmFolder, "copy", types.VirtualMachineCloneSpec{Template: true}))
	template := b.vm("copy")
	if _, err := b.try(template.PowerOn(b.ctx)); err == nil {
		t.Error("a template is powered on")
	}
	task, err = template.Clone(b.ctx, folders.VmFolder, "copy-2", types.VirtualMachineCloneSpec{})
	refused[*types.InvalidArgument](b, task, err)
	b.consistent()
}

func TestReconfigure(t *testing.T) {
	t.Parallel()
	b := newBed(t, 2, 8)
	name, _ := b.some()
	v := b.vm(name)
	b.done(v.PowerOff(b.ctx))
	before := b.see(v)
	spec := types.VirtualMachineConfigSpec{
		NumCPUs: 6, NumCoresPerSocket: types.NewInt32(3), MemoryMB: 8192, SimultaneousThreads: 2, Annotation: "changed",
		CpuAllocation: &types.ResourceAllocationInfo{Reservation: types.NewInt64(100)}, VirtualNuma: &types.VirtualMachineVirtualNuma{CoresPerNumaNode: types.NewInt32(3)},
	}
	b.done(v.Reconfigure(b.ctx, spec))
	got := b.see(v)
	h := got.Config.Hardware
	if h.NumCPU != 6 || *h.NumCoresPerSocket != 3 || h.MemoryMB != 8192 || h.SimultaneousThreads != 2 || got.Config.NumaInfo == nil || got.Config.NumaInfo.CoresPerNumaNode == nil || *got.Config.NumaInfo.CoresPerNumaNode != 3 {
		t.Errorf("has %d vCPUs, %v per socket, %d MB, %d threads, NUMA %+v", h.NumCPU, *h.NumCoresPerSocket, h.MemoryMB, h.SimultaneousThreads, got.Config.NumaInfo)
	}
	if a := got.Config.CpuAllocation; *a.Reservation != 100 || a.Shares == nil || a.Shares.Shares != before.Config.CpuAllocation.Shares.Shares || *a.Limit != *before.Config.CpuAllocation.Limit {
		t.Errorf("a part of the allocation changed the rest: %+v", a)
	}
	for _, wrong := range []types.VirtualMachineConfigSpec{{NumCPUs: 7, NumCoresPerSocket: types.NewInt32(3)}, {NumCPUs: 4096}, {MemoryMB: 33}} {
		if _, err := b.try(v.Reconfigure(b.ctx, wrong)); err == nil {
			t.Errorf("%d vCPUs of %v per socket and %d MB are accepted", wrong.NumCPUs, wrong.NumCoresPerSocket, wrong.MemoryMB)
		}
	}
	b.done(v.PowerOn(b.ctx))
	task, err := v.Reconfigure(b.ctx, types.VirtualMachineConfigSpec{NumCPUs: 12})
	hot := got.Config.CpuHotAddEnabled != nil && *got.Config.CpuHotAddEnabled
	if !hot {
		refused[*types.CpuHotPlugNotSupported](b, task, err)
	}
	docker := []types.BaseOptionValue{&types.OptionValue{Key: "RUN.container", Value: "alpine"}}
	task, err = v.Reconfigure(b.ctx, types.VirtualMachineConfigSpec{ExtraConfig: docker})
	refused[*types.NotSupported](b, task, err)
	b.done(v.Reconfigure(b.ctx, types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: "guestinfo.a", Value: "b"}}}))
	disks := object.VirtualDeviceList(b.see(v).Config.Hardware.Device)
	scsi := disks.SelectByType((*types.ParaVirtualSCSIController)(nil))[0].(types.BaseVirtualController)
	b.done(v.Reconfigure(b.ctx, types.VirtualMachineConfigSpec{DeviceChange: []types.BaseVirtualDeviceConfigSpec{&types.VirtualDeviceConfigSpec{
		Operation: types.VirtualDeviceConfigSpecOperationAdd, FileOperation: types.VirtualDeviceConfigSpecFileOperationCreate,
		Device: disks.CreateDisk(scsi, before.Datastore[0], ""),
	}}}))
	if n := len(object.VirtualDeviceList(b.see(v).Config.Hardware.Device).SelectByType((*types.VirtualDisk)(nil))); n != 2 {
		t.Errorf("%d disks, want 2", n)
	}
}

func TestSnapshots(t *testing.T) {
	t.Parallel()
	b := newBed(t, 2, 8)
	name, _ := b.some()
	v := b.vm(name)
	b.done(v.PowerOff(b.ctx))
	for i := range 3 {
		b.done(v.CreateSnapshot(b.ctx, fmt.Sprintf("s%d", i), "", false, false))
		b.done(v.Reconfigure(b.ctx, types.VirtualMachineConfigSpec{NumCPUs: int32(2 + i), NumCoresPerSocket: types.NewInt32(1)}))
	}
	s := b.see(v).Snapshot
	if s == nil || len(s.RootSnapshotList) != 1 || len(s.RootSnapshotList[0].ChildSnapshotList) != 1 {
		t.Fatalf("the snapshots are %+v", s)
	}
	b.done(v.RevertToSnapshot(b.ctx, "s1", true))
	if got := b.see(v).Config.Hardware.NumCPU; got != 2 {
		t.Errorf("%d vCPUs after the return to s1, want 2", got)
	}
	consolidate := true
	b.done(v.RemoveSnapshot(b.ctx, "s0", false, &consolidate)) // has children
	s = b.see(v).Snapshot
	if s == nil || len(s.RootSnapshotList) != 1 || s.RootSnapshotList[0].Name != "s1" || s.CurrentSnapshot == nil || *s.CurrentSnapshot != s.RootSnapshotList[0].Snapshot {
		t.Fatalf("the snapshots are %+v", s)
	}
	b.done(v.RemoveSnapshot(b.ctx, "s1", true, &consolidate))
	if s := b.see(v).Snapshot; s != nil {
		t.Errorf("left are %+v", s)
	}
	b.done(v.CreateSnapshot(b.ctx, "again", "", false, false))
	b.done(v.RemoveAllSnapshot(b.ctx, nil))
	if s := b.see(v).Snapshot; s != nil {
		t.Errorf("left are %+v", s)
	}
}

func TestCreateRegisterAndTemplates(t *testing.T) {
	t.Parallel()
	b := newBed(t, 4, 8)
	_, m := b.some()
	f := find.NewFinder(b.Client.Client)
	dc, _ := f.DefaultDatacenter(b.ctx)
	folders, _ := dc.Folders(b.ctx)
	pools, err := f.SetDatacenter(dc).ResourcePoolList(b.ctx, "*/Resources")
	if err != nil || len(pools) == 0 {
		t.Fatalf("the root pool: %v, %v", pools, err)
	}
	var d mo.Datastore
	if err := b.RetrieveOne(b.ctx, m.Datastore[0], []string{"name"}, &d); err != nil {
		t.Fatal(err)
	}
	spec := types.VirtualMachineConfigSpec{Name: "new", GuestId: "otherGuest", NumCPUs: 2, MemoryMB: 1024, SimultaneousThreads: 2, Files: &types.VirtualMachineFileInfo{VmPathName: "[" + d.Name + "]"}}
	ref := b.done(folders.VmFolder.CreateVM(b.ctx, spec, pools[0], nil)).Result.(types.ManagedObjectReference)
	if got := b.see(ref); got.Config.Hardware.NumCPU != 2 || got.Config.Hardware.SimultaneousThreads != 2 {
		t.Errorf("made with %d vCPUs, %d threads", got.Config.Hardware.NumCPU, got.Config.Hardware.SimultaneousThreads)
	}
	task, err := folders.VmFolder.CreateVM(b.ctx, spec, pools[0], nil)
	refused[*types.DuplicateName](b, task, err)
	spec.Name, spec.Files.VmPathName = "lost", "[no-such-store]"
	if _, err := b.try(folders.VmFolder.CreateVM(b.ctx, spec, pools[0], nil)); err == nil {
		t.Error("a VM is made on a datastore that does not exist")
	}
	spec.Files.VmPathName = "[" + d.Name + "] ../../escape/escape.vmx"
	if _, err := b.try(folders.VmFolder.CreateVM(b.ctx, spec, pools[0], nil)); err == nil {
		t.Error("a VM is made outside its datastore")
	}
	b.consistent()
	v := object.NewVirtualMachine(b.Client.Client, ref)
	path := b.see(v).Config.Files.VmPathName
	if err := v.Unregister(b.ctx); err != nil {
		t.Fatal(err)
	}
	b.consistent()
	ref = b.done(folders.VmFolder.RegisterVM(b.ctx, path, "again", false, pools[0], nil)).Result.(types.ManagedObjectReference)
	if got := b.see(ref); got.Config.Hardware.NumCPU != 2 || got.Name != "again" {
		t.Errorf("registered again as %s with %d vCPUs", got.Name, got.Config.Hardware.NumCPU)
	}
	b.consistent()
	v = object.NewVirtualMachine(b.Client.Client, ref)
	if err := v.MarkAsTemplate(b.ctx); err != nil {
		t.Fatal(err)
	}
	b.consistent()
	if err := v.MarkAsVirtualMachine(b.ctx, *pools[0], nil); err != nil {
		t.Fatal(err)
	}
	b.consistent()
	b.done(v.PowerOn(b.ctx))
	if _, err := b.try(folders.VmFolder.RegisterVM(b.ctx, "["+d.Name+"] nothing/nothing.vmx", "x", false, pools[0], nil)); err == nil {
		t.Error("files that do not exist are registered")
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	b := newBed(t, 6, 40)
	_, m := b.some()
	f := find.NewFinder(b.Client.Client)
	dc, _ := f.DefaultDatacenter(b.ctx)
	folders, _ := dc.Folders(b.ctx)
	pools, _ := f.SetDatacenter(dc).ResourcePoolList(b.ctx, "*/Resources")
	var d mo.Datastore
	if err := b.RetrieveOne(b.ctx, m.Datastore[0], []string{"name"}, &d); err != nil {
		t.Fatal(err)
	}
	source := object.NewVirtualMachine(b.Client.Client, m.Self)
	errs := make(chan error)
	const workers = 8
	for w := range workers {
		go func() { errs <- b.churn(w, source, folders.VmFolder, pools[0], d.Name) }()
	}
	for range workers {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	b.consistent()
}

// churn makes, clones, runs and destroys VMs.
func (b *bed) churn(w int, source *object.VirtualMachine, folder *object.Folder, pool *object.ResourcePool, store string) error {
	for i := range 4 {
		name := fmt.Sprintf("w%d-%d", w, i)
		spec := types.VirtualMachineConfigSpec{Name: name, GuestId: "otherGuest", Files: &types.VirtualMachineFileInfo{VmPathName: "[" + store + "]"}}
		made, err := b.try(folder.CreateVM(b.ctx, spec, pool, nil))
		if err != nil {
			return err
		}
		cloned, err := b.try(source.Clone(b.ctx, folder, name+"-clone", types.VirtualMachineCloneSpec{PowerOn: true}))
		if err != nil {
			return err
		}
		for _, r := range []types.AnyType{made.Result, cloned.Result} {
			v := object.NewVirtualMachine(b.Client.Client, r.(types.ManagedObjectReference))
			_, on := b.try(v.PowerOn(b.ctx))
			_, off := b.try(v.PowerOff(b.ctx))
			_, gone := b.try(v.Destroy(b.ctx))
			if on != nil && !fault.Is(on, &types.InvalidPowerState{}) || off != nil || gone != nil {
				return errors.Join(on, off, gone)
			}
		}
	}
	return nil
}

// Paths of a call lead to no files of the machine, and no call makes them part of the inventory.
func TestCallsStayInTheirDatastores(t *testing.T) {
	t.Parallel()
	b := newBed(t, 2, 4)
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	dc, err := find.NewFinder(b.Client.Client).DefaultDatacenter(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	files := object.NewFileManager(b.Client.Client)
	for _, path := range []string{"[store-1] ../../../../../../../.." + victim, "[store-1]/../../../../../../../.." + victim, "[store-1] a/../../../../../../../../.." + victim} {
		task, err := files.DeleteDatastoreFile(b.ctx, path, dc)
		refused[*types.InvalidDatastorePath](b, task, err)
		task, err = files.MoveDatastoreFile(b.ctx, path, dc, "[store-1] here", dc, true)
		refused[*types.InvalidDatastorePath](b, task, err)
	}
	if _, err := os.Stat(victim); err != nil {
		t.Error(err)
	}
	var hosts []mo.HostSystem
	all(t, b.Client, "HostSystem", []string{"configManager.datastoreSystem"}, &hosts)
	_, err = methods.CreateLocalDatastore(b.ctx, b.Client, &types.CreateLocalDatastore{This: *hosts[0].ConfigManager.DatastoreSystem, Name: "root", Path: "/"})
	if !fault.Is(err, &types.NotSupported{}) {
		t.Errorf("a folder of this machine as a datastore gives %v", err)
	}
}

// pciController is the key of a VM's PCI controller.
const pciController = 100

// A VM's PCI controller lists its own network adapters, and keeps to them when another VM gets more.
func TestVMsHaveDevicesOfTheirOwn(t *testing.T) {
	t.Parallel()
	b := newBed(t, 2, 4)
	name, m := b.some()
	var net mo.Network
	var store mo.Datastore
	if err := errors.Join(b.RetrieveOne(b.ctx, m.Network[0], []string{"name"}, &net), b.RetrieveOne(b.ctx, m.Datastore[0], []string{"name"}, &store)); err != nil {
		t.Fatal(err)
	}
	adapter := func() types.BaseVirtualDevice {
		d, err := object.EthernetCardTypes().CreateEthernetCard("vmxnet3", &types.VirtualEthernetCardNetworkBackingInfo{VirtualDeviceDeviceBackingInfo: types.VirtualDeviceDeviceBackingInfo{DeviceName: net.Name}})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	f := find.NewFinder(b.Client.Client)
	dc, _ := f.DefaultDatacenter(b.ctx)
	folders, _ := dc.Folders(b.ctx)
	pools, err := f.SetDatacenter(dc).ResourcePoolList(b.ctx, "*/Resources")
	if err != nil || len(pools) == 0 {
		t.Fatalf("the root pool: %v, %v", pools, err)
	}
	made := map[string]int{name: len(m.Network)}
	for _, called := range []string{"one", "two"} {
		changes, err := object.VirtualDeviceList{adapter(), adapter()}.ConfigSpec(types.VirtualDeviceConfigSpecOperationAdd)
		if err != nil {
			t.Fatal(err)
		}
		spec := types.VirtualMachineConfigSpec{Name: called, GuestId: "otherGuest", MemoryMB: 64, Files: &types.VirtualMachineFileInfo{VmPathName: "[" + store.Name + "]"}, DeviceChange: changes}
		b.done(folders.VmFolder.CreateVM(b.ctx, spec, pools[0], nil))
		made[called] = 2
	}
	if err := b.vm("one").AddDevice(b.ctx, adapter()); err != nil {
		t.Fatal(err)
	}
	made["one"]++
	for called, n := range made {
		var listed, attached []int32
		adapters := map[int32]bool{}
		for _, d := range b.see(b.vm(called)).Config.Hardware.Device {
			if pci, is := d.(*types.VirtualPCIController); is {
				listed = pci.Device
			}
			if d.GetVirtualDevice().ControllerKey == pciController {
				attached = append(attached, d.GetVirtualDevice().Key)
			}
			if _, is := d.(types.BaseVirtualEthernetCard); is {
				adapters[*d.GetVirtualDevice().UnitNumber] = true
			}
		}
		slices.Sort(listed)
		slices.Sort(attached)
		if len(adapters) != n || !slices.Equal(listed, attached) {
			t.Errorf("%s has %d adapters, want %d; attached are %v, its controller lists %v", called, len(adapters), n, attached, listed)
		}
	}
}
