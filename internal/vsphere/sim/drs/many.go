package drs

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/place"
	"plimsoll/internal/vsphere/sim/model"
	"plimsoll/internal/vsphere/sim/shadow"
	"plimsoll/internal/vsphere/sim/task"
)

type datacenter struct {
	*simulator.Datacenter
	shadow.Managed
	shadow.Unlocked
	room *Room
}

// start is a VM and the host that it starts on.
type start struct {
	vm reference
	on *reference
}

// lot is what comes of VMs that are placed together.
type lot struct {
	first   []start // moves of running VMs that make room
	starts  []start
	refused []types.ClusterNotAttemptedVmInfo
}

// refuse adds a VM that is not started.
func (l *lot) refuse(vm reference, why types.LocalizedMethodFault) {
	l.refused = append(l.refused, types.ClusterNotAttemptedVmInfo{Vm: vm, Fault: why})
}

// place places VMs together. A placer's layout is that of the view.
func (l *lot) place(v *model.View, p *place.Placer, ids []cluster.VMID) {
	choices := p.Group(ids)
	for _, c := range choices {
		for _, s := range c.First {
			if !slices.Contains(ids, s.VM) {
				l.first = append(l.first, start{v.VMs[s.VM], &v.Hosts[s.To]})
			}
		}
	}
	for _, c := range choices {
		if c.Host == cluster.Nowhere {
			l.refuse(v.VMs[c.VM], denied(v, c))
			continue
		}
		l.starts = append(l.starts, start{v.VMs[c.VM], &v.Hosts[v.Layout.Host(c.VM)]})
	}
}

// PowerOnMultiVMTask powers on VMs. DRS places those of a cluster together.
func (d *datacenter) PowerOnMultiVMTask(ctx *simulator.Context, r *types.PowerOnMultiVM_Task) soap.HasFault {
	body := new(methods.PowerOnMultiVM_TaskBody)
	ref, fault := d.room.tasks.Start(d.room.own(ctx), task.Operation{Name: "powerOnMultiVM", On: d.Datacenter, Apart: true, Do: func(own *simulator.Context) (types.AnyType, types.BaseMethodFault) {
		return d.room.powerOn(own, r.Vm), nil
	}})
	if fault != nil {
		body.Fault_ = simulator.Fault("", fault)
		return body
	}
	body.Res = &types.PowerOnMultiVM_TaskResponse{Returnval: ref}
	return body
}

// powerOn powers on VMs of any clusters.
func (r *Room) powerOn(own *simulator.Context, vms []reference) types.ClusterPowerOnVmResult {
	var all lot
	by := map[reference][]reference{}
	var order []reference
	for _, ref := range vms {
		of, ok := r.clusterOf(r.model.Host(ref))
		if !ok {
			all.refuse(ref, types.LocalizedMethodFault{Fault: &types.ManagedObjectNotFound{Obj: ref}, LocalizedMessage: "there is no such VM in a cluster"})
			continue
		}
		if by[of] == nil {
			order = append(order, of)
		}
		if !slices.Contains(by[of], ref) {
			by[of] = append(by[of], ref)
		}
	}
	for _, of := range order {
		r.model.Forget()
		at := make([]reference, len(by[of])) // where they are registered
		for i, ref := range by[of] {
			at[i] = r.model.Host(ref)
		}
		r.model.Decide(own, of, func(v *model.View) { all.choose(v, by[of], at) })
	}
	for _, m := range all.first {
		if fault := r.move(own, m.vm, *m.on); fault != nil {
			if of, ok := r.clusterOf(*m.on); ok {
				r.desk(of).failed(string(types.RecommendationReasonCodeUnreservedCapacity), m.vm, fault, "could not be moved to make room")
			}
		}
	}
	result := types.ClusterPowerOnVmResult{NotAttempted: all.refused}
	for _, s := range all.starts {
		ref, fault := r.startVM(own, s)
		if fault != nil {
			result.NotAttempted = append(result.NotAttempted, types.ClusterNotAttemptedVmInfo{Vm: s.vm, Fault: types.LocalizedMethodFault{Fault: fault, LocalizedMessage: "could not be started"}})
			continue
		}
		result.Attempted = append(result.Attempted, types.ClusterAttemptedVmInfo{Vm: s.vm, Task: &ref})
	}
	return result
}

// choose places the VMs of a cluster that DRS places; others start where they are.
func (l *lot) choose(v *model.View, vms, at []reference) {
	var ids []cluster.VMID
	for i, ref := range vms {
		id, known := v.VM(ref)
		switch is := v.Behavior(ref); {
		case !known:
			l.refuse(ref, types.LocalizedMethodFault{Fault: &types.InvalidState{}, LocalizedMessage: "it is a template"})
		case v.Layout.Host(id) != cluster.Nowhere:
			fault := &types.InvalidPowerState{RequestedState: types.VirtualMachinePowerStatePoweredOn, ExistingState: types.VirtualMachinePowerStatePoweredOn}
			l.refuse(ref, types.LocalizedMethodFault{Fault: fault, LocalizedMessage: "it runs already"})
		case is == "" || is == types.DrsBehaviorManual:
			if why := v.Placer.Denied(id); why != "" {
				l.refuse(ref, refusal(v, id, why))
				continue
			}
			if h, known := v.Host(at[i]); known {
				v.Layout.Move(id, h)
				v.Pools.Take(id)
				l.starts = append(l.starts, start{ref, &v.Hosts[h]})
			}
		default:
			ids = append(ids, id)
		}
	}
	l.place(v, v.Placer, ids)
}

// startVM begins to power on a VM, and returns the task.
func (r *Room) startVM(own *simulator.Context, s start) (reference, types.BaseMethodFault) {
	o, ok := r.reg.Get(s.vm).(*simulator.VirtualMachine)
	if !ok {
		return s.vm, &types.ManagedObjectNotFound{Obj: s.vm}
	}
	starter, ok := r.vm(o).(interface {
		PowerOnVMTask(*simulator.Context, *types.PowerOnVM_Task) soap.HasFault
	})
	if !ok {
		return s.vm, &types.NotSupported{}
	}
	return r.begin(own, o, func(own *simulator.Context) soap.HasFault {
		return starter.PowerOnVMTask(own, &types.PowerOnVM_Task{This: s.vm, Host: s.on})
	})
}
