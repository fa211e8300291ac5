package sim_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/event"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/generate"
	"plimsoll/internal/vsphere/sim/load"
)

// threeStores is a cluster whose hosts have three datastores. The first VM has disks on two of them.
func threeStores() *cluster.Cluster {
	c := simple()
	c.Datastores = []string{"ssd", "hdd", "nfs"}
	for i := range c.Hosts {
		c.Hosts[i].Datastores = []int32{0, 1, 2}
	}
	c.VMs[0].Datastores = []int32{0, 1}
	return c
}

// diskFiles are the disks of a VM, with their files.
func diskFiles(b *bed, v *object.VirtualMachine) (disks []*types.VirtualDisk, files []string) {
	for _, d := range object.VirtualDeviceList(b.see(v).Config.Hardware.Device).SelectByType((*types.VirtualDisk)(nil)) {
		disks = append(disks, d.(*types.VirtualDisk))
		files = append(files, d.GetVirtualDevice().Backing.(types.BaseVirtualDeviceFileBackingInfo).GetVirtualDeviceFileBackingInfo().FileName)
	}
	return disks, files
}

func TestSingleDisksAreRelocated(t *testing.T) {
	t.Parallel()
	in := threeStores()
	b := bedOf(t, in)
	v := b.vm(in.VMs[0].Name)
	store := map[string]types.ManagedObjectReference{}
	var all3 []mo.Datastore
	all(t, b.Client, "Datastore", []string{"name"}, &all3)
	for _, d := range all3 {
		store[d.Name] = d.Self
	}
	disks, _ := diskFiles(b, v)
	move := func(spec types.VirtualMachineRelocateSpec, home string, want ...string) {
		t.Helper()
		b.done(v.Relocate(b.ctx, spec, types.VirtualMachineMovePriorityDefaultPriority))
		now, files := diskFiles(b, v)
		for i := range want {
			if !strings.HasPrefix(files[i], "["+want[i]+"] ") || *now[i].Backing.(*types.VirtualDiskFlatVer2BackingInfo).Datastore != store[want[i]] {
				t.Errorf("disk %d is %s, want it on %s", i, files[i], want[i])
			}
		}
		if is := b.see(v).Config.Files.VmPathName; !strings.HasPrefix(is, "["+home+"] ") {
			t.Errorf("the home is %s, want it on %s", is, home)
		}
		b.consistent()
	}
	at := func(disk int, on string) types.VirtualMachineRelocateSpecDiskLocator {
		return types.VirtualMachineRelocateSpecDiskLocator{DiskId: disks[disk].Key, Datastore: store[on]}
	}
	move(types.VirtualMachineRelocateSpec{Disk: []types.VirtualMachineRelocateSpecDiskLocator{at(1, "nfs")}}, "ssd", "ssd", "nfs")
	hdd, ssd := store["hdd"], store["ssd"]
	move(types.VirtualMachineRelocateSpec{Datastore: &hdd, Disk: []types.VirtualMachineRelocateSpecDiskLocator{at(0, "nfs")}}, "hdd", "nfs", "hdd")
	move(types.VirtualMachineRelocateSpec{Datastore: &ssd}, "ssd", "ssd", "ssd")
	if n := len(b.see(v).Datastore); n != 1 {
		t.Errorf("the VM is on %d datastores, want 1", n)
	}
	task, err := v.Relocate(b.ctx, types.VirtualMachineRelocateSpec{Disk: []types.VirtualMachineRelocateSpecDiskLocator{{DiskId: 1, Datastore: ssd}}}, types.VirtualMachineMovePriorityDefaultPriority)
	refused[*types.InvalidArgument](b, task, err)
	none := types.ManagedObjectReference{Type: "Datastore", Value: "none"}
	task, err = v.Relocate(b.ctx, types.VirtualMachineRelocateSpec{Disk: []types.VirtualMachineRelocateSpecDiskLocator{{DiskId: disks[0].Key, Datastore: none}}}, types.VirtualMachineMovePriorityDefaultPriority)
	refused[*types.ManagedObjectNotFound](b, task, err)
}

// Each disk of a generated VM grows, also after a relocation.
func TestDisksGrow(t *testing.T) {
	t.Parallel()
	in := threeStores()
	b := bedOf(t, in)
	v := b.vm(in.VMs[0].Name)
	grow := func() {
		t.Helper()
		disks, _ := diskFiles(b, v)
		if len(disks) != 2 {
			t.Fatalf("%d disks, want 2", len(disks))
		}
		for i, d := range disks {
			d.CapacityInKB += 1 << 20
			d.CapacityInBytes = d.CapacityInKB << 10
			want := d.CapacityInKB
			b.done(v.Reconfigure(b.ctx, types.VirtualMachineConfigSpec{DeviceChange: []types.BaseVirtualDeviceConfigSpec{
				&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationEdit, Device: d},
			}}))
			now := object.VirtualDeviceList(b.see(v).Config.Hardware.Device).FindByKey(d.Key).(*types.VirtualDisk)
			if now.CapacityInKB != want {
				t.Errorf("disk %d has %d KiB, want %d", i, now.CapacityInKB, want)
			}
		}
	}
	grow()
	b.done(v.PowerOff(b.ctx))
	nfs := b.see(v).Datastore[1]
	b.done(v.Relocate(b.ctx, types.VirtualMachineRelocateSpec{Datastore: &nfs}, types.VirtualMachineMovePriorityDefaultPriority))
	grow()
	copied := b.done(v.Clone(b.ctx, sure(sure(find.NewFinder(b.Client.Client).DefaultDatacenter(b.ctx)).Folders(b.ctx)).VmFolder, "copy", types.VirtualMachineCloneSpec{}))
	v = object.NewVirtualMachine(b.Client.Client, copied.Result.(types.ManagedObjectReference))
	grow()
}

// Quick statistics that a client sets stay.
func TestStatisticsThatAClientSetsStay(t *testing.T) {
	t.Parallel()
	spec := generate.Typical(2, 3)
	spec.VMs = 4
	in, course := generate.WithCourse(spec)
	b, s := serveAt(t, in, load.Source{Cluster: in, Course: load.Generated(course)})
	name, _ := b.some()
	v := b.vm(name)
	b.done(v.Reconfigure(b.ctx, types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: "SET.summary.quickStats.overallCpuUsage", Value: int32(12345)}}}))
	s.Step(time.Minute)
	s.Step(3 * time.Hour)
	if got := b.see(v).Summary.QuickStats.OverallCpuUsage; got != 12345 {
		t.Errorf("the usage is %d MHz, want the 12345 that were set", got)
	}
	b.done(v.PowerOff(b.ctx))
	b.done(v.PowerOn(b.ctx))
	s.Step(time.Minute)
	if got := b.see(v).Summary.QuickStats.OverallCpuUsage; got == 12345 {
		t.Error("the usage that was set outlives the power off")
	}
}

func TestStatisticsOfHostsThatWereSetStay(t *testing.T) {
	t.Parallel()
	b, s := serveAt(t, simple())
	_, is := b.some()
	host, usage := s.Model.Map().Get(*is.Runtime.Host).(*simulator.HostSystem), func() int32 {
		var h mo.HostSystem
		if err := b.Client.RetrieveOne(b.ctx, *is.Runtime.Host, []string{"summary.quickStats"}, &h); err != nil {
			t.Fatal(err)
		}
		return h.Summary.QuickStats.OverallCpuUsage
	}
	s.Step(time.Minute)
	if got := usage(); got == 0 || got == 4321 {
		t.Fatalf("the host uses %d MHz", got)
	}
	own := *s.Model.Service.Context
	own.WithLock(host.Self, func() {
		stats := host.Summary.QuickStats
		stats.OverallCpuUsage = 4321
		own.Update(host, []types.PropertyChange{{Name: "summary.quickStats", Val: stats}})
	})
	s.Step(time.Minute)
	b.done(b.vm(is.Name).PowerOff(b.ctx))
	s.Step(time.Hour)
	if got := usage(); got != 4321 {
		t.Errorf("the host uses %d MHz, want the 4321 that were set", got)
	}
	h := b.host(host.Name)
	b.done(h.Disconnect(b.ctx))
	s.Step(time.Minute)
	b.done(h.Reconnect(b.ctx, nil, nil))
	s.Step(time.Minute)
	if got := usage(); got == 4321 {
		t.Error("the usage that was set outlives a disconnection")
	}
}

// An event has the simulated time from the instant on that a client can read it.
func TestEventsHaveTheSimulatedTime(t *testing.T) {
	t.Parallel()
	b, _ := serveAt(t, simple())
	name, _ := b.some()
	v := b.vm(name)
	c, err := event.NewManager(b.Client.Client).CreateCollectorForEvents(b.ctx, types.EventFilterSpec{})
	if err != nil {
		t.Fatal(err)
	}
	pc := sure(property.DefaultCollector(b.Client.Client).Create(b.ctx))
	if _, err := pc.CreateFilter(b.ctx, types.CreateFilter{Spec: types.PropertyFilterSpec{
		PropSet: []types.PropertySpec{{Type: "EventHistoryCollector", PathSet: []string{"latestPage"}}}, ObjectSet: []types.ObjectSpec{{Obj: c.Reference()}},
	}}); err != nil {
		t.Fatal(err)
	}
	worked := make(chan struct{})
	go func() {
		defer close(worked)
		for range 20 {
			for _, act := range []func(context.Context) (*object.Task, error){v.PowerOff, func(ctx context.Context) (*object.Task, error) { return v.PowerOn(ctx) }} {
				if task, err := act(b.ctx); err == nil {
					_ = task.Wait(b.ctx)
				}
			}
		}
	}()
	read, version := 0, ""
	for done := false; !done; {
		select {
		case <-worked:
			done = true
		default:
		}
		r, err := methods.WaitForUpdatesEx(b.ctx, b.Client, &types.WaitForUpdatesEx{This: pc.Reference(), Version: version, Options: &types.WaitOptions{MaxWaitSeconds: types.NewInt32(0)}})
		if err != nil {
			t.Fatal(err)
		}
		if r.Returnval == nil {
			continue
		}
		version = r.Returnval.Version
		for _, u := range r.Returnval.FilterSet[0].ObjectSet {
			page, _ := u.ChangeSet[0].Val.(types.ArrayOfEvent)
			for _, e := range page.Event {
				if _, vm := e.(interface{ GetVmEvent() *types.VmEvent }); !vm {
					continue
				}
				read++
				if at := e.GetEvent().CreatedTime; !at.Equal(tuesday()) {
					t.Fatalf("an event %T is of %v, want %v", e, at, tuesday())
				}
			}
		}
	}
	if read == 0 {
		t.Error("no event was read")
	}
}
