package hand

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster/topology"
	"plimsoll/internal/live"
	"plimsoll/internal/vsphere/inventory"
)

// form is the present virtual topology of a VM.
type form struct {
	live.Shape
	version string // of its configuration, which changes with each change
}

// formed are the properties of a form.
var formed = []string{
	"config.hardware.numCPU", "config.hardware.numCoresPerSocket", "config.hardware.autoCoresPerSocket", "config.cpuHotAddEnabled",
	"config.numaInfo", "config.extraConfig", "config.version", "config.changeVersion", "runtime.powerState", "runtime.connectionState",
}

// firstAutomatic is the first hardware version for which vSphere chooses sockets and nodes.
const firstAutomatic = 20

// Shapes implements live.Shaper.
func (h *Hand) Shapes(ctx context.Context, vms []string) (map[string]live.Shape, error) {
	if err := h.book.Fill(ctx, h.session, h.cluster); err != nil {
		return nil, err
	}
	names := map[reference]string{}
	var refs []reference
	for _, name := range vms {
		if ref, err := h.book.VM(name); err == nil {
			names[ref] = name
			refs = append(refs, ref)
		}
	}
	out := map[string]live.Shape{}
	const batch = 500
	for part := range slices.Chunk(refs, batch) {
		err := inventory.Read(ctx, h.session, part, func(string) []string { return formed }, func(o types.ObjectContent) {
			out[names[o.Obj]] = formOf(o).Shape
		})
		if err != nil {
			return nil, fmt.Errorf("read the topologies of VMs: %w", err)
		}
	}
	return out, nil
}

// formOf converts the properties of a VM.
func formOf(o types.ObjectContent) (f form) {
	f.Advanced = map[string]string{}
	automaticCores, node := false, types.VirtualMachineVirtualNumaInfo{}
	state, connection := types.VirtualMachinePowerState(""), types.VirtualMachineConnectionState("")
	for _, p := range o.PropSet {
		switch v := p.Val.(type) {
		case int32:
			if p.Name == "config.hardware.numCPU" {
				f.VCPUs = int(v)
			} else {
				f.CoresPerSocket = int(v)
			}
		case bool:
			if p.Name == "config.cpuHotAddEnabled" {
				f.HotAdd = v
			} else {
				automaticCores = v
			}
		case string:
			if p.Name == "config.version" {
				f.Automatic = hardware(v) >= firstAutomatic
			} else {
				f.version = v
			}
		case types.VirtualMachineVirtualNumaInfo:
			node = v
		case types.ArrayOfOptionValue:
			f.takeAdvanced(v)
		case types.VirtualMachinePowerState:
			state = v
		case types.VirtualMachineConnectionState:
			connection = v
		}
	}
	f.choose(automaticCores, node)
	switch {
	case state == types.VirtualMachinePowerStatePoweredOn:
		f.Busy = "it runs"
	case state != types.VirtualMachinePowerStatePoweredOff:
		f.Busy = "it is " + string(state)
	case connection != types.VirtualMachineConnectionStateConnected:
		f.Busy = "it is " + string(connection)
	}
	return f
}

func (f *form) takeAdvanced(list types.ArrayOfOptionValue) {
	for _, o := range list.OptionValue {
		v := o.GetOptionValue()
		if text, is := v.Value.(string); is && text != "" && slices.Contains(topology.AdvancedNames(), v.Key) {
			f.Advanced[v.Key] = text
		}
	}
}

// choose keeps explicit settings, not automatic choices of vSphere.
func (f *form) choose(automaticCores bool, node types.VirtualMachineVirtualNumaInfo) {
	yes := func(b *bool) bool { return b != nil && *b }
	if f.CoresPerSocket = max(1, f.CoresPerSocket); !f.Automatic {
		return
	}
	if automaticCores {
		f.CoresPerSocket = 0
	}
	if n := node.CoresPerNumaNode; n != nil && !yes(node.AutoCoresPerNumaNode) {
		f.CoresPerNode = int(*n)
	}
	f.ShowOnHotAdd = yes(node.VnumaOnCpuHotaddExposed)
}

// hardware is the number of a hardware version such as vmx-20; 0 if unknown.
func hardware(version string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(version, "vmx-"))
	if err != nil {
		return 0
	}
	return n
}

// Reshape implements live.Shaper. The vCenter refuses it if the VM's configuration changed
// since it was compared with the former one.
func (h *Hand) Reshape(ctx context.Context, name string, from, to topology.Setting) error {
	if err := h.book.Fill(ctx, h.session, h.cluster); err != nil {
		return err
	}
	vm, err := h.book.VM(name)
	if err != nil {
		return err
	}
	was, err := h.form(ctx, vm)
	switch {
	case err != nil:
		return fmt.Errorf("change the topology of %s: %w", name, said(err, name))
	case was.String() == to.String():
		return nil
	case was.String() != from.String():
		return fmt.Errorf("change the topology of %s: it has %q, not %q: somebody changed it", name, was.Setting, from)
	case was.Busy != "":
		return fmt.Errorf("change the topology of %s: %s", name, was.Busy)
	}
	spec := was.spec(to)
	err = h.carryOut(ctx, vm, func() (reference, error) {
		answer, err := methods.ReconfigVM_Task(ctx, h.client(), &types.ReconfigVM_Task{This: vm, Spec: spec})
		if err != nil {
			return reference{}, err
		}
		return answer.Returnval, nil
	})
	if err != nil && !uncertain(err) {
		return fmt.Errorf("change the topology of %s: %w", name, said(err, name))
	}
	return h.confirmShape(ctx, name, vm, to, err)
}

// spec is the change from a form to a setting.
func (f *form) spec(to topology.Setting) types.VirtualMachineConfigSpec {
	spec := types.VirtualMachineConfigSpec{ChangeVersion: f.version}
	if to.CoresPerSocket != f.CoresPerSocket {
		spec.NumCoresPerSocket = types.NewInt32(int32(to.CoresPerSocket))
	}
	if to.HotAdd != f.HotAdd {
		spec.CpuHotAddEnabled = types.NewBool(to.HotAdd)
	}
	if f.Automatic && (to.CoresPerNode != f.CoresPerNode || to.ShowOnHotAdd != f.ShowOnHotAdd) {
		spec.VirtualNuma = &types.VirtualMachineVirtualNuma{CoresPerNumaNode: types.NewInt32(int32(to.CoresPerNode)), ExposeVnumaOnCpuHotadd: types.NewBool(to.ShowOnHotAdd)}
	}
	for _, name := range topology.AdvancedNames() {
		if to.Advanced[name] != f.Advanced[name] { // an empty value removes it
			spec.ExtraConfig = append(spec.ExtraConfig, &types.OptionValue{Key: name, Value: to.Advanced[name]})
		}
	}
	return spec
}

// confirmShape reads the topology back, which decides: a reply or a task may have been lost.
func (h *Hand) confirmShape(ctx context.Context, name string, vm reference, to topology.Setting, err error) error {
	var now form
	trouble := h.persist(ctx, func(ctx context.Context) (err error) {
		now, err = h.form(ctx, vm)
		return err
	})
	switch {
	case trouble != nil && err != nil:
		return fmt.Errorf("change the topology of %s: %w; what it has now is unknown: %w", name, err, trouble)
	case trouble != nil:
		return fmt.Errorf("change the topology of %s: the task succeeded, but the VM cannot be read: %w", name, said(trouble, name))
	case now.String() == to.String():
		return nil
	case err != nil:
		return fmt.Errorf("change the topology of %s: %w; it was not changed", name, err)
	}
	return fmt.Errorf("change the topology of %s: the task succeeded, but the VM has %q, not %q", name, now.Setting, to)
}

// form reads one VM.
func (h *Hand) form(ctx context.Context, vm reference) (f form, err error) {
	found := types.ObjectContent{}
	err = h.read(ctx, vm, formed, func(name string, value any) {
		found.PropSet = append(found.PropSet, types.DynamicProperty{Name: name, Val: value})
	})
	if f = formOf(found); err == nil && f.VCPUs == 0 {
		err = errors.New("the vCenter did not return its configuration")
	}
	return f, err
}
