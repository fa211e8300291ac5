package inventory

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
	"plimsoll/internal/vsphere/sim/original"
	"plimsoll/internal/vsphere/sim/release"
	"plimsoll/internal/vsphere/sim/replica"
)

// stamp is the name of the VM from which the others of a cluster are copied.
func (s *clusterBuilder) stamp() string { return "plimsoll-stamp-" + s.is.Self.Value }

// makeVMs creates one VM as a client would, copies it, and destroys it.
func (s *clusterBuilder) makeVMs(ctx context.Context) error {
	if len(s.from.VMs) == 0 {
		return nil
	}
	template, err := s.template()
	if err != nil {
		return err
	}
	folder := s.in.reg.Get(s.in.dc.VmFolder).(*simulator.Folder)
	for i := range s.from.VMs {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := s.vm(template, folder, i); err != nil {
			return fmt.Errorf("make VM %s: %w", s.from.VMs[i].Name, err)
		}
	}
	home := s.in.reg.Get(template.Datastore[0]).(*simulator.Datastore)
	if err := s.in.run(template.DestroyTask(s.in.context(), &types.Destroy_Task{This: template.Self}).(*methods.Destroy_TaskBody).Res.Returnval); err != nil {
		return err
	}
	// The original simulator logs operations on the copies there.
	return remake(ctx, filepath.Join(home.Summary.Url, s.stamp()))
}

// remake creates the folder of a destroyed VM again: the original simulator deletes it in a
// separate task, for which the destruction does not wait.
func remake(ctx context.Context, folder string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		err := os.Mkdir(folder, 0o700)
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Millisecond):
		}
	}
}

// run waits for a task and removes it.
func (b *builder) run(ref types.ManagedObjectReference) error {
	task := b.reg.Get(ref).(*simulator.Task)
	task.Wait()
	b.reg.Remove(b.context(), ref)
	if f := task.Info.Error; f != nil {
		return fmt.Errorf("%T: %s", f.Fault, f.LocalizedMessage)
	}
	return nil
}

func (s *clusterBuilder) template() (*simulator.VirtualMachine, error) {
	if len(s.hosts) == 0 {
		return nil, fmt.Errorf("VMs need a host, but the cluster has none")
	}
	host := s.hosts[0]
	for i := range s.hosts { // one with access to a datastore
		if len(s.hosts[i].Datastore) > 0 {
			host = s.hosts[i]
			break
		}
	}
	if len(host.Datastore) == 0 {
		return nil, fmt.Errorf("no host has a datastore")
	}
	store := s.in.reg.Get(host.Datastore[0]).(*simulator.Datastore).Name
	var devices object.VirtualDeviceList
	scsi, err := devices.CreateSCSIController("pvscsi")
	if err != nil {
		return nil, err
	}
	disk := devices.CreateDisk(scsi.(types.BaseVirtualController), types.ManagedObjectReference{}, fmt.Sprintf("[%s] %s/disk1.vmdk", store, s.stamp()))
	disk.CapacityInKB = 16 << 20
	nic, err := devices.CreateEthernetCard("vmxnet3", &types.VirtualEthernetCardNetworkBackingInfo{
		VirtualDeviceDeviceBackingInfo: types.VirtualDeviceDeviceBackingInfo{DeviceName: s.usual.Name}, Network: &s.usual.Self,
	})
	if err != nil {
		return nil, err
	}
	changes, err := append(devices, scsi, disk, nic).ConfigSpec(types.VirtualDeviceConfigSpecOperationAdd)
	if err != nil {
		return nil, err
	}
	folder := s.in.reg.Get(s.in.dc.VmFolder).(*simulator.Folder)
	original.Plug(changes)
	r := folder.CreateVMTask(s.in.context(), &types.CreateVM_Task{
		This: folder.Self, Pool: *s.is.ResourcePool, Host: &host.Self,
		Config: types.VirtualMachineConfigSpec{
			Name: s.stamp(), Version: release.Hardware.String(), GuestId: string(types.VirtualMachineGuestOsIdentifierOtherLinux64Guest), DeviceChange: changes,
			Files: &types.VirtualMachineFileInfo{VmPathName: "[" + store + "]"},
		},
	})
	task := s.in.reg.Get(r.(*methods.CreateVM_TaskBody).Res.Returnval).(*simulator.Task)
	ref := task.Self
	if err := s.in.run(ref); err != nil {
		return nil, fmt.Errorf("make the first VM: %w", err)
	}
	return s.in.reg.Get(task.Info.Result.(types.ManagedObjectReference)).(*simulator.VirtualMachine), nil
}

// vm copies the template to a VM.
func (s *clusterBuilder) vm(template *simulator.VirtualMachine, folder *simulator.Folder, i int) error {
	from := &s.from.VMs[i]
	host, err := s.home(i)
	if err != nil {
		return err
	}
	stores := s.reachable(from, host)
	old := s.in.reg.Get(template.Datastore[0]).(*simulator.Datastore).Name
	rename := strings.NewReplacer("["+old+"] "+s.stamp()+"/", "["+stores[0].Name+"] "+folderOf(from.Name)+"/", s.stamp(), from.Name)
	vm := *template
	vm.VirtualMachine = replica.Renamed(template.VirtualMachine, rename.Replace)
	vm.DataSets = map[string]*simulator.DataSet{}
	vm.Self = types.ManagedObjectReference{}
	vm.RecentTask = nil
	s.in.reg.PutEntity(folder, &vm)
	vm.Summary.Vm = &vm.Self
	pool := s.pools[from.Pool]
	vm.ResourcePool, vm.Runtime.Host = &pool.Self, &host.Self
	vm.Datastore, vm.Network = nil, nil
	for _, d := range stores {
		vm.Datastore = append(vm.Datastore, d.Self)
		d.Vm = append(d.Vm, vm.Self)
	}
	size(&vm.VirtualMachine, from)
	s.devices(&vm.VirtualMachine, from, stores)
	identify(&vm.VirtualMachine)
	s.start(&vm.VirtualMachine, from)
	demand(&vm.VirtualMachine, from)
	host.Vm, pool.Vm = append(host.Vm, vm.Self), append(pool.Vm, vm.Self)
	folder.ChildEntity = append(folder.ChildEntity, vm.Self)
	s.vms = append(s.vms, vm.Self)
	return files(&vm.VirtualMachine, stores[0])
}

// home is the host of a VM. A VM that is off is registered on a host with access to its
// networks and datastores.
func (s *clusterBuilder) home(i int) (*simulator.HostSystem, error) {
	v := &s.from.VMs[i]
	if v.Host != cluster.Nowhere {
		return s.hosts[v.Host], nil
	}
	for k := range s.hosts {
		h := (i + k) % len(s.hosts)
		if contains(s.from.Hosts[h].Datastores, v.Datastores) && len(s.hosts[h].Datastore) > 0 {
			return s.hosts[h], nil
		}
	}
	return nil, fmt.Errorf("no host has its datastores")
}

func contains(all, some []int32) bool {
	have := map[int32]bool{}
	for _, a := range all {
		have[a] = true
	}
	for _, x := range some {
		if !have[x] {
			return false
		}
	}
	return true
}

// reachable lists the datastores of a VM, its home first.
func (s *clusterBuilder) reachable(v *cluster.VM, host *simulator.HostSystem) (list []*simulator.Datastore) {
	for _, d := range v.Datastores {
		if s.stores[d] != nil {
			list = append(list, s.stores[d])
		}
	}
	if len(list) == 0 {
		list = append(list, s.in.reg.Get(host.Datastore[0]).(*simulator.Datastore))
	}
	return list
}

// size sets vCPUs, memory and allocations.
func size(vm *mo.VirtualMachine, from *cluster.VM) {
	cores := from.CoresPerSocket
	vm.Config.Hardware.NumCPU, vm.Config.Hardware.NumCoresPerSocket = int32(from.VCPUs), types.NewInt32(int32(max(cores, 1)))
	vm.Config.Hardware.AutoCoresPerSocket = types.NewBool(cores == 0)
	vm.Config.Hardware.MemoryMB = int32(from.Memory / mib)
	vm.Summary.Config.NumCpu, vm.Summary.Config.MemorySizeMB = int32(from.VCPUs), int32(from.Memory/mib)
	vm.Config.CpuHotAddEnabled = types.NewBool(from.HotAdd)
	lowCPU, lowMemory := cluster.VMShares(cluster.ShareLow, from.VCPUs, from.Memory)
	cpu := allocation(from.CPU, level(from.CPU.Shares, lowCPU), 1)
	memory := allocation(from.Mem, level(from.Mem.Shares, lowMemory), mib)
	vm.Config.CpuAllocation, vm.Config.MemoryAllocation = &cpu, &memory
	vm.ResourceConfig = &types.ResourceConfigSpec{Entity: &vm.Self, CpuAllocation: cpu, MemoryAllocation: memory}
	vm.Summary.Config.CpuReservation, vm.Summary.Config.MemoryReservation = int32(*cpu.Reservation), int32(*memory.Reservation)
	vm.Config.InitialOverhead = &types.VirtualMachineConfigInfoOverheadInfo{InitialMemoryReservation: from.Overhead}
}

// The keys of the first disk and network adapter in vCenter, and the unit number of a SCSI
// controller itself.
const (
	firstDisk, firstCard = 2000, 4000
	ownUnit              = 7
)

// devices gives a VM a disk on each of its datastores and a card on each of its networks.
func (s *clusterBuilder) devices(vm *mo.VirtualMachine, from *cluster.VM, stores []*simulator.Datastore) {
	var disk *types.VirtualDisk
	var nic *types.VirtualVmxnet3
	var list []types.BaseVirtualDevice
	for _, d := range vm.Config.Hardware.Device {
		switch d := d.(type) {
		case *types.VirtualDisk:
			disk = d
		case *types.VirtualVmxnet3:
			nic = d
			continue
		}
		list = append(list, d)
	}
	for i, store := range stores {
		d := disk
		if i > 0 {
			d = replica.Of(disk)
			list = append(list, d)
		}
		unit := int32(i)
		if unit >= ownUnit {
			unit++
		}
		d.Key, d.UnitNumber = firstDisk+int32(i), &unit
		if back, ok := d.Backing.(*types.VirtualDiskFlatVer2BackingInfo); ok {
			back.FileName, back.Datastore = fmt.Sprintf("[%s] %s/disk%d.vmdk", store.Name, folderOf(vm.Name), i+1), &store.Self
		}
	}
	for i, n := range from.Networks {
		net := s.nets[n]
		card := replica.Of(nic)
		card.Key, card.UnitNumber = firstCard+int32(i), types.NewInt32(7+int32(i))
		card.DeviceInfo = &types.Description{Label: fmt.Sprintf("Network adapter %d", i+1), Summary: net.Name}
		card.Backing = &types.VirtualEthernetCardNetworkBackingInfo{
			VirtualDeviceDeviceBackingInfo: types.VirtualDeviceDeviceBackingInfo{DeviceName: net.Name}, Network: &net.Self,
		}
		sum := sha256.Sum256([]byte(vm.Name + "/" + net.Name))
		card.MacAddress = fmt.Sprintf("00:50:56:%02x:%02x:%02x", sum[0]&0x3f, sum[1], sum[2])
		list = append(list, card)
		vm.Network = append(vm.Network, net.Self)
		net.Vm = append(net.Vm, vm.Self)
	}
	original.Attach(list)
	vm.Config.Hardware.Device = list
	vm.Summary.Config.NumEthernetCards, vm.Summary.Config.NumVirtualDisks = int32(len(from.Networks)), int32(len(stores))
}

// identify derives the identifiers of a VM from its name, equal in each run.
func identify(vm *mo.VirtualMachine) {
	id := func(salt string) string {
		sum := sha256.Sum256([]byte(salt + vm.Name))
		sum[6], sum[8] = sum[6]&0x0f|0x50, sum[8]&0x3f|0x80
		return fmt.Sprintf("%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
	}
	vm.Config.Uuid, vm.Config.InstanceUuid = id("bios "), id("instance ")
	vm.Summary.Config.Uuid, vm.Summary.Config.InstanceUuid = vm.Config.Uuid, vm.Config.InstanceUuid
}

// start sets the power state.
func (s *clusterBuilder) start(vm *mo.VirtualMachine, from *cluster.VM) {
	vm.Runtime.PowerState = types.VirtualMachinePowerStatePoweredOff
	vm.Runtime.FaultToleranceState, vm.Runtime.RecordReplayState = types.VirtualMachineFaultToleranceStateNotConfigured, types.VirtualMachineRecordReplayStateInactive
	vm.GuestHeartbeatStatus, vm.Summary.QuickStats.GuestHeartbeatStatus = types.ManagedEntityStatusGray, types.ManagedEntityStatusGray
	if from.Host != cluster.Nowhere {
		now := time.Now()
		vm.Runtime.PowerState, vm.Runtime.BootTime = types.VirtualMachinePowerStatePoweredOn, &now
		if s.from.Hosts[from.Host].State == cluster.Failed {
			vm.Runtime.ConnectionState = types.VirtualMachineConnectionStateDisconnected
		}
	}
	vm.Summary.Runtime = vm.Runtime
}

// demand sets the observed demand of a VM.
func demand(vm *mo.VirtualMachine, from *cluster.VM) {
	q := &vm.Summary.QuickStats
	if vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
		return
	}
	q.OverallCpuDemand, q.OverallCpuUsage = int32(from.Demand.CPU.Recent), int32(from.Demand.CPU.Recent)
	q.GuestMemoryUsage, q.ActiveMemory = int32(from.Demand.Active.Recent/mib), int32(from.Demand.Active.Recent/mib)
	q.HostMemoryUsage, q.ConsumedOverheadMemory = int32(from.Demand.Consumed/mib), int32(from.Overhead/mib)
	q.GrantedMemory, q.PrivateMemory = vm.Config.Hardware.MemoryMB, int32(from.Demand.Consumed/mib)
}

// files creates the folder of a VM's files.
func files(vm *mo.VirtualMachine, on *simulator.Datastore) error {
	return os.Mkdir(filepath.Join(on.Summary.Url, folderOf(vm.Name)), 0o700)
}

// folderOf is the folder of a VM's files in vSphere's notation: a single folder in its
// datastore.
func folderOf(name string) string {
	if name == "." || name == ".." {
		return strings.ReplaceAll(name, ".", "%2e")
	}
	return name
}
