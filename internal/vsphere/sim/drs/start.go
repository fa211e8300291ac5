package drs

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/place"
	"plimsoll/internal/vsphere/sim/model"
)

// powerOnVM is the reason of the recommendation to power on a VM.
const powerOnVM = string(types.RecommendationReasonCodePowerOnVm)

// room are the recommendations of moves that make room, without keys.
func room(v *model.View, steps []place.Step, now time.Time) (list []types.ClusterRecommendation) {
	for i, s := range steps {
		m := advice.For(advice.MakeRoom)
		m.Step = s
		rec := recommendation(v, &m, now)
		rec.Action = []types.BaseClusterAction{action(v, &m, now)}
		if i > 0 {
			rec.Prerequisite = []string{strconv.Itoa(i - 1)}
		}
		list = append(list, rec)
	}
	return list
}

// consent is the recommendations to power on VMs.
type consent struct{ room *Room }

// advise adds the recommendations to power on VMs to those of their clusters.
func (p consent) advise(own *simulator.Context, list []advised) (out []types.ClusterRecommendation) {
	r := p.room
	now := r.tasks.Clock().Now()
	of := map[reference]bool{}
	for _, a := range list {
		vm := a.vm
		is := types.ClusterRecommendation{
			Type: "V1", Time: now, Rating: mandatory, Reason: powerOnVM, ReasonText: "Power on the VM " + r.nameOf(vm), Target: a.on,
			Action: []types.BaseClusterAction{&types.ClusterInitialPlacementAction{
				ClusterAction: types.ClusterAction{Type: "PlacementV1", Target: &vm}, TargetHost: *a.on,
			}},
		}
		if n := len(a.first); n > 0 {
			is.Prerequisite = []string{strconv.Itoa(n - 1)}
		}
		out = append(out, r.state(a.of).add(append(a.first, is))...)
		of[a.of] = true
	}
	for ref := range of {
		r.publish(own, ref)
	}
	if len(list) > 0 {
		r.model.Revise() // their hosts in the views are planned ones
	}
	return out
}

// pending are the recommendations to power on VMs that still hold: the VM is off, and no other
// VM must move first.
func (p consent) pending(own *simulator.Context, d *drsState) (list []types.ClusterRecommendation) {
	d.m.Lock()
	open := slices.Clone(d.open)
	d.m.Unlock()
	for _, rec := range open {
		if rec.Reason != powerOnVM || len(rec.Prerequisite) > 0 {
			continue
		}
		if vm, ok := p.room.reg.Get(*rec.Action[0].GetClusterAction().Target).(*simulator.VirtualMachine); ok {
			own.WithLock(vm.Self, func() {
				if vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOff {
					list = append(list, rec)
				}
			})
		}
	}
	return list
}

// placed powers on a VM on the host of a recommendation.
func (p consent) placed(own *simulator.Context, a *types.ClusterInitialPlacementAction) (types.BaseMethodFault, string) {
	ref, fault := p.room.startVM(own, start{*a.Target, &a.TargetHost})
	if fault == nil {
		_, fault = p.room.tasks.Wait(ref)
	}
	return fault, fmt.Sprintf("%T", fault)
}
