package vsphere

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/guest/guesttest"
)

// hypervisor gives the VMs of a simulator a life: a VM that is powered on is a PC of QEMU with the
// devices that the simulator shows, the disks that were uploaded and the CD of its datastore. It
// is powered off in the simulator when it has powered off by itself.
type hypervisor struct {
	t       *testing.T
	model   *simulator.Model
	uploads func() [][]byte
	folder  string
	on      map[types.ManagedObjectReference]*guesttest.Powered
	booted  []guesttest.PC
}

// alive runs a hypervisor until stop is called, which returns the PCs that it started.
func alive(t *testing.T, model *simulator.Model, uploads func() [][]byte) (stop func() []guesttest.PC) {
	h := &hypervisor{t: t, model: model, uploads: uploads, folder: t.TempDir(), on: map[types.ManagedObjectReference]*guesttest.Powered{}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				h.look()
			}
		}
	}()
	stop = func() []guesttest.PC {
		cancel()
		<-done
		return h.booted
	}
	t.Cleanup(func() { stop() })
	return stop
}

// look compares what the simulator says of its VMs with what runs.
func (h *hypervisor) look() {
	there := map[types.ManagedObjectReference]bool{}
	for _, e := range h.model.Map().All("VirtualMachine") {
		vm := e.(*simulator.VirtualMachine)
		if !strings.HasPrefix(vm.Name, "plimsoll-") {
			continue
		}
		var on bool
		var config types.VirtualMachineConfigInfo
		ctx := *h.model.Service.Context
		ctx.WithLock(vm, func() {
			on = vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn
			config = *vm.Config
		})
		pc, seen := h.on[vm.Self] // nil if it did not start
		there[vm.Self] = on
		switch {
		case on && !seen:
			h.start(vm, &config)
		case on && pc != nil && ended(pc):
			delete(h.on, vm.Self)
			vm.PowerOffVMTask(&ctx, &types.PowerOffVM_Task{This: vm.Self})
		}
	}
	for ref, pc := range h.on {
		if !there[ref] {
			if pc != nil {
				pc.Off()
			}
			delete(h.on, ref)
		}
	}
}

func ended(pc *guesttest.Powered) bool {
	select {
	case <-pc.Ended():
		return true
	default:
		return false
	}
}

func (h *hypervisor) start(vm *simulator.VirtualMachine, c *types.VirtualMachineConfigInfo) {
	pc, err := h.pc(vm.Self.Value, c)
	if err == nil {
		var on *guesttest.Powered
		if on, err = pc.Power(h.t); err == nil {
			h.on[vm.Self] = on
			h.booted = append(h.booted, pc)
			h.t.Cleanup(func() {
				if h.t.Failed() {
					h.t.Logf("console of %s:\n%s", vm.Self.Value, on.Console())
				}
			})
			return
		}
	}
	h.t.Errorf("%s does not start: %v", vm.Name, err)
	h.on[vm.Self] = nil
}

// pc is the machine of a configuration.
func (h *hypervisor) pc(id string, c *types.VirtualMachineConfigInfo) (pc guesttest.PC, err error) {
	pc = guesttest.PC{Sockets: int(c.Hardware.NumCPU), Cores: 1, Nodes: 1, Memory: int64(c.Hardware.MemoryMB) << 20}
	if n := c.Hardware.NumCoresPerSocket; n != nil && *n > 1 {
		pc.Cores = int(*n)
		pc.Sockets /= pc.Cores
	}
	for _, o := range c.ExtraConfig {
		if v := o.GetOptionValue(); v.Key == "numa.vcpu.maxPerVirtualNode" {
			each, err := strconv.Atoi(fmt.Sprint(v.Value))
			if err != nil {
				return pc, err
			}
			pc.Nodes = int(c.Hardware.NumCPU) / each
		}
	}
	if n := c.NumaInfo; n != nil && n.CoresPerNumaNode != nil {
		pc.Nodes = int(c.Hardware.NumCPU / *n.CoresPerNumaNode)
	}
	devices := object.VirtualDeviceList(c.Hardware.Device)
	for _, d := range devices {
		switch d := d.(type) {
		case *types.VirtualVmxnet3:
			pc.Card = "vmxnet3"
		case *types.VirtualE1000e:
			pc.Card = "e1000e"
		case *types.VirtualCdrom:
			if back, is := d.Backing.(*types.VirtualCdromIsoBackingInfo); is {
				pc.CD, err = h.file(back.FileName)
			}
		case *types.VirtualDisk:
			err = h.disk(&pc, id, devices, d)
		}
		if err != nil {
			return pc, err
		}
	}
	return pc, nil
}

// disk adds a disk. The first is the one that starts the PC; QEMU's firmware cannot start from
// pvscsi, and so it is at an IDE controller.
func (h *hypervisor) disk(pc *guesttest.PC, id string, devices object.VirtualDeviceList, d *types.VirtualDisk) error {
	kind := "pvscsi"
	if _, is := devices.FindByKey(d.ControllerKey).(*types.VirtualNVMEController); is {
		kind = "nvme"
	}
	for n, sent := range h.uploads() {
		if int64(binary.LittleEndian.Uint64(sent[12:]))*512 != d.CapacityInBytes {
			continue
		}
		if n == 0 {
			kind = "ide"
		}
		file, err := h.keep(id, n, sent)
		if err != nil {
			return err
		}
		drive := guesttest.Drive{File: file, Controller: kind}
		if n == 0 {
			pc.Disks = append([]guesttest.Drive{drive}, pc.Disks...)
		} else {
			pc.Disks = append(pc.Disks, drive)
		}
		return nil
	}
	return fmt.Errorf("no disk of %d bytes was uploaded", d.CapacityInBytes)
}

// keep writes a disk to a file. That of data outlives a boot; what VMs start from and their programs are only read, and are the same for all.
func (h *hypervisor) keep(id string, n int, sent []byte) (file string, err error) {
	const data = 1
	packed := filepath.Join(h.folder, fmt.Sprintf("%d.vmdk", n))
	if _, err := os.Stat(packed); err != nil {
		if err := os.WriteFile(packed, sent, 0o600); err != nil {
			return "", err
		}
	}
	if n != data {
		return packed, nil
	}
	file = filepath.Join(h.folder, id+".qcow2")
	if _, err := os.Stat(file); err != nil {
		if out, err := exec.Command("qemu-img", "convert", "-O", "qcow2", packed, file).CombinedOutput(); err != nil {
			return "", fmt.Errorf("qemu-img: %w: %s", err, out)
		}
	}
	return file, nil
}

// file is a file of a datastore on this machine.
func (h *hypervisor) file(name string) (string, error) {
	var at object.DatastorePath
	if !at.FromString(name) {
		return "", fmt.Errorf("%q is no path of a datastore", name)
	}
	for _, e := range h.model.Map().All("Datastore") {
		if d := e.(*simulator.Datastore); d.Name == at.Datastore {
			return filepath.Join(d.Summary.Url, at.Path), nil
		}
	}
	return "", fmt.Errorf("no datastore %s", at.Datastore)
}
