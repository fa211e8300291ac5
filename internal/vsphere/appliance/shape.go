package appliance

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Shape is the virtual hardware of a VM and its resource allocation.
type Shape struct {
	CPUs, Cores       int // cores of a socket
	Nodes             int // of virtual NUMA; 1: none
	Memory            int64
	Controller        string // of the data disk: pvscsi, nvme or sata
	Card              string // vmxnet3 or e1000e
	CPUReservation    int64  // MHz
	CPUShares         int    // 0: default
	MemoryReservation int64  // bytes
	Latency           string // latency sensitivity: normal or high
}

// Advanced settings of virtual NUMA before vSphere 8.
const (
	numaLeast = "numa.vcpu.min"               // vCPUs from which a VM has virtual NUMA
	numaMost  = "numa.vcpu.maxPerVirtualNode" // vCPUs of a node
	// firstNUMA is the first hardware version with a property for it.
	firstNUMA = 20
)

// Shape configures a VM that is off, and reads back the stored configuration. The data disk is
// identified by its size.
func (v *VM) Shape(ctx context.Context, want Shape, data int64) error {
	c, err := v.config(ctx)
	if err != nil {
		return err
	}
	spec := types.VirtualMachineConfigSpec{
		NumCPUs: int32(want.CPUs), NumCoresPerSocket: types.NewInt32(int32(want.Cores)), MemoryMB: want.Memory >> 20,
		CpuAllocation:      allocation(want.CPUReservation, want.CPUShares),
		MemoryAllocation:   allocation(want.MemoryReservation>>20, 0),
		LatencySensitivity: &types.LatencySensitivity{Level: types.LatencySensitivitySensitivityLevel(want.Latency)},
	}
	whole := want.Memory == want.MemoryReservation
	spec.MemoryReservationLockedToMax = &whole
	each := int32(want.CPUs / want.Nodes)
	if hardwareVersion(c.Version) >= firstNUMA {
		spec.VirtualNuma = &types.VirtualMachineVirtualNuma{CoresPerNumaNode: &each}
	} else {
		spec.ExtraConfig = []types.BaseOptionValue{
			&types.OptionValue{Key: numaLeast, Value: strconv.Itoa(want.CPUs)}, &types.OptionValue{Key: numaMost, Value: strconv.Itoa(int(each))},
		}
	}
	if spec.DeviceChange, err = v.devices(ctx, c, want, data); err != nil {
		return err
	}
	if err := v.reconfigure(ctx, spec); err != nil {
		return err
	}
	has, err := v.Read(ctx, data)
	if err == nil && has != want {
		err = fmt.Errorf("reconfigure %s: the vCenter has stored %+v instead of %+v", v.name, has, want)
	}
	return err
}

// allocation is a resource allocation without a limit.
func allocation(reservation int64, shares int) *types.ResourceAllocationInfo {
	a := &types.ResourceAllocationInfo{Reservation: &reservation, Limit: types.NewInt64(-1), Shares: &types.SharesInfo{Level: types.SharesLevelNormal}}
	if shares > 0 {
		a.Shares = &types.SharesInfo{Level: types.SharesLevelCustom, Shares: int32(shares)}
	}
	return a
}

func hardwareVersion(text string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(text, "vmx-"))
	return n
}

// Read returns the stored configuration.
func (v *VM) Read(ctx context.Context, data int64) (s Shape, err error) {
	c, err := v.config(ctx)
	if err != nil {
		return s, err
	}
	s = Shape{CPUs: int(c.Hardware.NumCPU), Cores: 1, Nodes: 1, Memory: int64(c.Hardware.MemoryMB) << 20, Latency: string(types.LatencySensitivitySensitivityLevelNormal)}
	if n := c.Hardware.NumCoresPerSocket; n != nil && *n > 0 {
		s.Cores = int(*n)
	}
	if l := c.LatencySensitivity; l != nil && l.Level != "" {
		s.Latency = string(l.Level)
	}
	if a := c.CpuAllocation; a != nil {
		s.CPUReservation = value(a.Reservation)
		if a.Shares != nil && a.Shares.Level == types.SharesLevelCustom {
			s.CPUShares = int(a.Shares.Shares)
		}
	}
	if a := c.MemoryAllocation; a != nil {
		s.MemoryReservation = value(a.Reservation) << 20
	}
	if each := nodeSize(c); each > 0 {
		s.Nodes = s.CPUs / each
	}
	devices := object.VirtualDeviceList(c.Hardware.Device)
	if s.Card, err = card(devices); err != nil {
		return s, fmt.Errorf("read the configuration of %s: %w", v.name, err)
	}
	if s.Controller, err = controllerOf(devices, data); err != nil {
		return s, fmt.Errorf("read the configuration of %s: %w", v.name, err)
	}
	return s, nil
}

func value(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// nodeSize is the number of vCPUs of a virtual NUMA node; 0 if the vCenter chooses it.
func nodeSize(c *types.VirtualMachineConfigInfo) int {
	if n := c.NumaInfo; n != nil && n.CoresPerNumaNode != nil && (n.AutoCoresPerNumaNode == nil || !*n.AutoCoresPerNumaNode) {
		return int(*n.CoresPerNumaNode)
	}
	for _, o := range c.ExtraConfig {
		if o.GetOptionValue().Key == numaMost {
			n, _ := strconv.Atoi(fmt.Sprint(o.GetOptionValue().Value))
			return n
		}
	}
	return 0
}

// Placement is the host of a VM, with its CPUs and the VM's hardware version.
type Placement struct {
	Host     string
	CPU      string // model of the host's CPUs
	Hardware string // version of the VM's virtual hardware
}

// Placement reads the placement of the VM.
func (v *VM) Placement(ctx context.Context) (p Placement, err error) {
	var m mo.VirtualMachine
	if err := v.site.read(ctx, v.ref, &m, "runtime.host", "config.version"); err != nil {
		return p, fmt.Errorf("read where %s is: %w", v.name, err)
	}
	if m.Config != nil {
		p.Hardware = m.Config.Version
	}
	if m.Runtime.Host == nil {
		return p, errors.New("the account lacks access to the host of " + v.name)
	}
	var h mo.HostSystem
	if err := v.site.read(ctx, *m.Runtime.Host, &h, "name", "summary.hardware"); err != nil {
		return p, fmt.Errorf("read the host of %s: %w", v.name, err)
	}
	p.Host = h.Name
	if h.Summary.Hardware != nil {
		p.CPU = h.Summary.Hardware.CpuModel
	}
	return p, nil
}
