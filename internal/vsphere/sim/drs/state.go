package drs

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// mostHistory is the maximum length of a cluster's history of moves.
const mostHistory = 1000

// drsState is the recommendations, faults and history of DRS in a cluster.
type drsState struct {
	m       sync.Mutex
	next    int
	open    []types.ClusterRecommendation
	faults  []types.ClusterDrsFaults
	moves   []types.ClusterDrsMigration
	actions []types.ClusterActionHistory
	begun   held       // VMs of recommendations in progress
	working sync.Mutex // recommendations of successive rounds are carried out in sequence
}

func (r *Room) state(of reference) *drsState {
	r.m.Lock()
	defer r.m.Unlock()
	if r.states[of] == nil {
		r.states[of] = &drsState{begun: held{}}
	}
	return r.states[of]
}

// propose replaces the recommendations and the faults, except kept recommendations.
func (d *drsState) propose(list, kept []types.ClusterRecommendation, faults []types.ClusterDrsFaults) []types.ClusterRecommendation {
	d.m.Lock()
	defer d.m.Unlock()
	list = d.name(list)
	d.open, d.faults = slices.Concat(kept, list), faults
	return list
}

// add adds recommendations.
func (d *drsState) add(list []types.ClusterRecommendation) []types.ClusterRecommendation {
	d.m.Lock()
	defer d.m.Unlock()
	list = d.name(list)
	d.open = slices.Concat(d.open, list)
	return list
}

// name sets the keys of recommendations. The state is locked.
func (d *drsState) name(list []types.ClusterRecommendation) []types.ClusterRecommendation {
	first := d.next + 1
	for i := range list {
		d.next++
		list[i].Key = fmt.Sprint(d.next)
		for k, p := range list[i].Prerequisite { // indexes of the list until now
			var at int
			fmt.Sscan(p, &at)
			list[i].Prerequisite[k] = fmt.Sprint(first + at)
		}
		for _, a := range list[i].Action {
			if m, ok := a.(*types.ClusterMigrationAction); ok {
				m.DrsMigration.Key = list[i].Key
			}
		}
	}
	return list
}

// take removes a recommendation and its prerequisites, in order.
func (d *drsState) take(key string) (list []types.ClusterRecommendation, found bool) {
	d.m.Lock()
	defer d.m.Unlock()
	wanted := map[string]bool{key: true}
	for i := len(d.open) - 1; i >= 0; i-- {
		if o := &d.open[i]; wanted[o.Key] {
			found = found || o.Key == key
			for _, p := range o.Prerequisite {
				wanted[p] = true
			}
		}
	}
	d.open = slices.DeleteFunc(slices.Clone(d.open), func(o types.ClusterRecommendation) bool {
		if wanted[o.Key] {
			list = append(list, o)
		}
		return wanted[o.Key]
	})
	return list, found
}

// cancel removes a recommendation, and those that depend on it.
func (d *drsState) cancel(key string) (found bool) {
	d.m.Lock()
	defer d.m.Unlock()
	gone := map[string]bool{key: true}
	d.open = slices.DeleteFunc(slices.Clone(d.open), func(o types.ClusterRecommendation) bool {
		found = found || o.Key == key
		if slices.ContainsFunc(o.Prerequisite, func(p string) bool { return gone[p] }) {
			gone[o.Key] = true
		}
		return gone[o.Key]
	})
	return found
}

// withdraw removes all recommendations of moves without dependants.
func (d *drsState) withdraw() {
	d.m.Lock()
	defer d.m.Unlock()
	d.open = slices.DeleteFunc(slices.Clone(d.open), func(o types.ClusterRecommendation) bool { return o.Reason != powerOnVM || len(o.Prerequisite) > 0 })
}

// begin records the VMs of recommendations in progress, until they end.
func (d *drsState) begin(list []types.ClusterRecommendation) {
	d.m.Lock()
	defer d.m.Unlock()
	for _, rec := range list {
		for _, a := range rec.Action {
			if m, is := a.(*types.ClusterMigrationAction); is {
				d.begun[m.DrsMigration.Vm] = &m.DrsMigration.Destination
			}
		}
	}
}

// carryOut carries out a recommendation, until an action fails.
func (d *drsState) carryOut(rec *types.ClusterRecommendation, now func() time.Time, act func(types.BaseClusterAction) (types.BaseMethodFault, string)) types.BaseMethodFault {
	for _, a := range rec.Action {
		if fault, why := act(a); fault != nil {
			d.failed(rec.Reason, *a.GetClusterAction().Target, fault, why)
			return fault
		}
		d.acted(a, now())
	}
	return nil
}

// end drops the VMs of a recommendation.
func (d *drsState) end(rec *types.ClusterRecommendation) {
	d.m.Lock()
	defer d.m.Unlock()
	for _, a := range rec.Action {
		delete(d.begun, *a.GetClusterAction().Target)
	}
}

// acted records an action that was carried out.
func (d *drsState) acted(a types.BaseClusterAction, at time.Time) {
	d.m.Lock()
	defer d.m.Unlock()
	if m, is := a.(*types.ClusterMigrationAction); is {
		moved := *m.DrsMigration
		moved.Time = at
		d.moves = append(d.moves[max(0, len(d.moves)-mostHistory+1):], moved)
	}
	d.actions = append(d.actions[max(0, len(d.actions)-mostHistory+1):], types.ClusterActionHistory{Action: a, Time: at})
}

// failed records a failed move.
func (d *drsState) failed(reason string, vm reference, fault types.BaseMethodFault, why string) {
	d.m.Lock()
	defer d.m.Unlock()
	d.faults = append(slices.Clone(d.faults), faults(reason, vm, types.LocalizedMethodFault{Fault: fault, LocalizedMessage: why}))
}

func faults(reason string, vm reference, all ...types.LocalizedMethodFault) types.ClusterDrsFaults {
	return types.ClusterDrsFaults{Reason: reason, FaultsByVm: []types.BaseClusterDrsFaultsFaultsByVm{&types.ClusterDrsFaultsFaultsByVm{Vm: &vm, Fault: all}}}
}

// publish sets the properties of the cluster.
func (r *Room) publish(ctx *simulator.Context, of reference) {
	c, ok := r.reg.Get(of).(*simulator.ClusterComputeResource)
	if !ok {
		return
	}
	d := r.state(of)
	ctx.WithLock(c, func() {
		d.m.Lock()
		changes := []types.PropertyChange{
			change("recommendation", slices.Clone(d.open)), change("drsFault", slices.Clone(d.faults)),
			change("migrationHistory", slices.Clone(d.moves)), change("actionHistory", slices.Clone(d.actions)),
			change("drsRecommendation", former(d.open)),
		}
		d.m.Unlock()
		ctx.Update(c, changes)
	})
}

// former converts recommendations to the form of the API before 2.5.
func former(list []types.ClusterRecommendation) (out []types.ClusterDrsRecommendation) {
	for _, o := range list {
		f := types.ClusterDrsRecommendation{Key: o.Key, Rating: o.Rating, Reason: o.Reason, ReasonText: o.ReasonText}
		for _, a := range o.Action {
			if m, ok := a.(*types.ClusterMigrationAction); ok {
				f.MigrationList = append(f.MigrationList, *m.DrsMigration)
			}
		}
		out = append(out, f)
	}
	return out
}

// RefreshRecommendation makes a round, and carries out automatic recommendations.
func (c *clusterShadow) RefreshRecommendation(ctx *simulator.Context, _ *types.RefreshRecommendation) soap.HasFault {
	c.room.model.Revise()
	c.room.round(ctx, c.ClusterComputeResource, false)
	return &methods.RefreshRecommendationBody{Res: new(types.RefreshRecommendationResponse)}
}

// ApplyRecommendation starts to carry out a recommendation, after its prerequisites.
func (c *clusterShadow) ApplyRecommendation(ctx *simulator.Context, r *types.ApplyRecommendation) soap.HasFault {
	body := new(methods.ApplyRecommendationBody)
	list, found := c.room.state(c.Self).take(r.Key)
	if !found {
		body.Fault_ = simulator.Fault("no recommendation has the key "+r.Key, &types.InvalidArgument{InvalidProperty: "key"})
		return body
	}
	c.room.publish(ctx, c.Self)
	c.room.start(ctx, c.ClusterComputeResource, list)
	body.Res = new(types.ApplyRecommendationResponse)
	return body
}

// CancelRecommendation removes a recommendation, and those that depend on it.
func (c *clusterShadow) CancelRecommendation(ctx *simulator.Context, r *types.CancelRecommendation) soap.HasFault {
	body := new(methods.CancelRecommendationBody)
	if !c.room.state(c.Self).cancel(r.Key) {
		body.Fault_ = simulator.Fault("no recommendation has the key "+r.Key, &types.InvalidArgument{InvalidProperty: "key"})
		return body
	}
	c.room.publish(ctx, c.Self)
	body.Res = new(types.CancelRecommendationResponse)
	return body
}
