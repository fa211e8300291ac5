package drs

import (
	"slices"
	"time"

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

// start is a VM and the host on which it starts.
type start struct {
	vm reference
	on *reference
}

// lot is the result of placing VMs together.
type lot struct {
	now     time.Time
	of      reference         // the cluster
	level   types.DrsBehavior // overrides the VMs' own; empty if it does not
	first   []start           // moves of running VMs that make room
	starts  []start
	advised []advised
	refused []types.ClusterNotAttemptedVmInfo
}

// advised is a VM that is powered on when the user applies the recommendation, after moves of
// others that make room.
type advised struct {
	start
	of    reference // the cluster
	first []types.ClusterRecommendation
}

// behavior is the automation level of a VM's placement.
func (l *lot) behavior(v *model.View, ref reference) types.DrsBehavior {
	is := v.Behavior(ref)
	if is != "" && l.level != "" {
		return l.level
	}
	return is
}

// refuse adds a VM that is not started.
func (l *lot) refuse(vm reference, why types.LocalizedMethodFault) {
	l.refused = append(l.refused, types.ClusterNotAttemptedVmInfo{Vm: vm, Fault: why})
}

// place places VMs together. A placer's layout is that of the view. Asks selects VMs whose
// placement is only recommended; nil selects none.
func (l *lot) place(v *model.View, p *place.Placer, ids []cluster.VMID, asks func(place.Choice) bool) {
	choices := p.Group(ids)
	others := func(s place.Step) bool { return !slices.Contains(ids, s.VM) }
	for _, c := range choices {
		c.First = slices.DeleteFunc(slices.Clone(c.First), func(s place.Step) bool { return !others(s) })
		if c.Host == cluster.Nowhere {
			l.refuse(v.VMs[c.VM], denied(v, c))
			continue
		}
		is := start{v.VMs[c.VM], &v.Hosts[v.Layout.Host(c.VM)]}
		if asks != nil && asks(c) {
			l.advised = append(l.advised, advised{start: is, of: l.of, first: room(v, c.First, l.now)})
			continue
		}
		for _, s := range c.First {
			l.first = append(l.first, start{v.VMs[s.VM], &v.Hosts[s.To]})
		}
		l.starts = append(l.starts, is)
	}
}

// PowerOnMultiVMTask powers on VMs. DRS places those of a cluster together.
func (d *datacenter) PowerOnMultiVMTask(ctx *simulator.Context, r *types.PowerOnMultiVM_Task) soap.HasFault {
	body := new(methods.PowerOnMultiVM_TaskBody)
	ref, fault := d.room.tasks.Start(d.room.own(ctx), task.Operation{Name: "powerOnMultiVM", On: d.Datacenter, Apart: true, Do: func(own *simulator.Context) (types.AnyType, types.BaseMethodFault) {
		return d.powerOn(own, r), nil
	}})
	body.Res, body.Fault_ = &types.PowerOnMultiVM_TaskResponse{Returnval: ref}, task.Fault(fault)
	return body
}

// powerOn powers on VMs of any clusters.
func (d *datacenter) powerOn(own *simulator.Context, spec *types.PowerOnMultiVM_Task) types.ClusterPowerOnVmResult {
	r := d.room
	all := lot{now: r.tasks.Clock().Now(), level: override(spec.Option)}
	by := map[reference][]reference{}
	var order []reference
	for _, ref := range spec.Vm {
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
		r.model.Revise()
		at := make([]reference, len(by[of])) // hosts on which they are registered
		for i, ref := range by[of] {
			at[i] = r.model.Host(ref)
		}
		all.of = of
		r.model.Decide(own, of, func(v *model.View) { all.choose(v, by[of], at) })
	}
	for _, m := range all.first {
		if fault := r.move(own, m.vm, *m.on); fault != nil {
			if of, ok := r.clusterOf(*m.on); ok {
				r.state(of).failed(string(types.RecommendationReasonCodeUnreservedCapacity), m.vm, fault, "could not be moved to make room")
			}
		}
	}
	result := types.ClusterPowerOnVmResult{NotAttempted: all.refused, Recommendations: consent{r}.advise(own, all.advised)}
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

// override is the automation level that a client chose for the VMs.
func override(options []types.BaseOptionValue) types.DrsBehavior {
	for _, o := range options {
		if is := o.GetOptionValue(); is.Key == string(types.ClusterPowerOnVmOptionOverrideAutomationLevel) {
			switch level := is.Value.(type) {
			case string:
				return types.DrsBehavior(level)
			case types.DrsBehavior:
				return level
			}
		}
	}
	return ""
}

// choose places the VMs of a cluster that DRS places; others start on their hosts. It only
// recommends in manual mode, and if VMs would have to move that DRS does not move
// automatically.
func (l *lot) choose(v *model.View, vms, at []reference) {
	var ids []cluster.VMID
	for i, ref := range vms {
		id, known := v.VM(ref)
		switch {
		case !known:
			l.refuse(ref, types.LocalizedMethodFault{Fault: &types.InvalidState{}, LocalizedMessage: "it is a template"})
		case v.Layout.Host(id) != cluster.Nowhere:
			fault := &types.InvalidPowerState{RequestedState: types.VirtualMachinePowerStatePoweredOn, ExistingState: types.VirtualMachinePowerStatePoweredOn}
			l.refuse(ref, types.LocalizedMethodFault{Fault: fault, LocalizedMessage: "it runs already"})
		case v.Behavior(ref) == "":
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
	l.place(v, v.Placer, ids, func(c place.Choice) bool {
		if l.behavior(v, v.VMs[c.VM]) == types.DrsBehaviorManual {
			return true
		}
		return slices.ContainsFunc(c.First, func(s place.Step) bool { return l.behavior(v, v.VMs[s.VM]) != types.DrsBehaviorFullyAutomated })
	})
}

// startVM starts to power on a VM, and returns the task.
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
