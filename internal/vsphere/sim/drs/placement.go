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
)

// The kinds of placement.
const (
	create      = string(types.PlacementSpecPlacementTypeCreate)
	clone       = string(types.PlacementSpecPlacementTypeClone)
	relocate    = string(types.PlacementSpecPlacementTypeRelocate)
	reconfigure = string(types.PlacementSpecPlacementTypeReconfigure)
)

// placementRequest is a VM to place in a cluster.
type placementRequest struct {
	vm     *reference   // nil for a VM to create
	guest  *model.Guest // nil for an existing VM that does not change
	config *types.VirtualMachineConfigSpec
	hosts  []reference // allowed hosts; none means all
	// stores are the allowed datastores, by host. If nil, it stays on its own.
	stores map[reference][]reference
	admit  bool // subject to admission control
	stays  bool // on its host, if that can run it
}

// placementResult is the placement of a VM.
type placementResult struct {
	host  reference
	store *reference
	cost  place.Cost
	fault types.LocalizedMethodFault // why there is none; empty otherwise
}

// PlaceVm chooses host and datastore of a VM to create, clone, move or change. The original
// validates the request.
func (c *clusterShadow) PlaceVm(ctx *simulator.Context, r *types.PlaceVm) soap.HasFault {
	w, fault := c.wish(ctx, &r.PlacementSpec)
	if fault != nil {
		return &methods.PlaceVmBody{Fault_: fault}
	}
	asked := *r
	asked.PlacementSpec.Hosts, asked.PlacementSpec.Datastores = nil, nil // short lists crash the original
	var body *methods.PlaceVmBody
	if !c.stored(ctx, r.PlacementSpec.Vm) {
		return &methods.PlaceVmBody{Fault_: simulator.Fault("the cluster or the VM has no datastore", &types.InvalidState{})}
	}
	ctx.WithLock(c.ClusterComputeResource, func() { body = c.ClusterComputeResource.PlaceVm(ctx, &asked).(*methods.PlaceVmBody) })
	if body.Fault_ != nil || len(body.Res.Returnval.Recommendations) == 0 {
		return body
	}
	var at placementResult
	c.room.model.Decide(c.room.own(ctx), c.Self, func(v *model.View) { at = w.place(v) })
	if at.fault.Fault != nil {
		fault := faults(string(types.RecommendationReasonCodeXvmotionPlacement), reference{}, at.fault)
		fault.FaultsByVm[0].GetClusterDrsFaultsFaultsByVm().Vm = w.vm
		body.Res.Returnval = types.PlacementResult{DrsFault: &fault}
		return body
	}
	rec := &body.Res.Returnval.Recommendations[0]
	rec.Time, rec.Rating, rec.Target = c.room.tasks.Clock().Now(), mandatory, &at.host
	for _, a := range rec.Action {
		if a, ok := a.(*types.PlacementAction); ok {
			at.enter(a)
		}
	}
	return body
}

// stored reports whether the cluster and a VM have datastores, without which the original
// crashes.
func (c *clusterShadow) stored(ctx *simulator.Context, vm *reference) bool {
	has := true
	ctx.WithLock(c.ClusterComputeResource, func() { has = len(c.Datastore) > 0 })
	if vm == nil || !has {
		return has
	}
	o, ok := c.room.reg.Get(*vm).(*simulator.VirtualMachine)
	if !ok {
		return false
	}
	ctx.WithLock(o, func() { has = len(o.Datastore) > 0 })
	return has
}

// enter enters the host and the datastore into an action.
func (at *placementResult) enter(a *types.PlacementAction) {
	a.Type, a.Target, a.TargetHost = "PlacementV1", &at.host, &at.host
	if a.RelocateSpec == nil {
		return
	}
	a.RelocateSpec.Host = &at.host
	if at.store == nil {
		return
	}
	a.RelocateSpec.Datastore = at.store
	for i := range a.RelocateSpec.Disk {
		a.RelocateSpec.Disk[i].Datastore = *at.store
	}
}

// placementRequest parses a request.
func (c *clusterShadow) wish(ctx *simulator.Context, s *types.PlacementSpec) (*placementRequest, *soap.Fault) {
	w := &placementRequest{vm: s.Vm, hosts: s.Hosts}
	var vm *simulator.VirtualMachine
	if s.Vm != nil {
		if vm, _ = c.room.reg.Get(*s.Vm).(*simulator.VirtualMachine); vm == nil {
			return nil, simulator.Fault("", &types.ManagedObjectNotFound{Obj: *s.Vm})
		}
	}
	moves := s.RelocateSpec
	missing := ""
	switch s.PlacementType {
	case create:
		g := model.Created(s.ConfigSpec)
		w.vm, w.guest, w.admit = nil, &g, true
	case clone:
		if missing = "vm"; vm != nil {
			missing, w.admit, w.guest = "", true, c.cloned(ctx, vm, s)
		}
		if s.CloneSpec != nil {
			moves = &s.CloneSpec.Location
		}
	case relocate, reconfigure:
		w.config, w.stays = s.ConfigSpec, s.PlacementType == reconfigure
		switch {
		case vm == nil:
			missing = "vm"
		case w.stays && s.ConfigSpec == nil:
			missing = "configSpec"
		}
	}
	if missing != "" {
		return nil, simulator.Fault("", &types.InvalidArgument{InvalidProperty: "placementSpec." + missing})
	}
	if w.guest == nil && vm != nil {
		if of, _ := c.room.clusterOf(c.room.model.Host(vm.Self)); of != c.Self { // it comes from another cluster
			g := c.guest(ctx, vm)
			w.guest, w.admit = &g, true
		}
	}
	if stores := w.narrow(moves, s.Datastores); w.guest != nil || len(stores) > 0 {
		w.stores = c.stores(ctx, stores)
	}
	if w.guest != nil {
		w.guest.Datastores = nil
	}
	return w, nil
}

// narrow applies the host, pool and datastore that a client has chosen, and returns the
// allowed datastores.
func (w *placementRequest) narrow(moves *types.VirtualMachineRelocateSpec, stores []reference) []reference {
	if moves == nil {
		return stores
	}
	if moves.Host != nil {
		w.hosts = []reference{*moves.Host}
	}
	if w.guest != nil && moves.Pool != nil {
		w.guest.Pool = *moves.Pool
	}
	if moves.Datastore != nil {
		return []reference{*moves.Datastore}
	}
	return stores
}

// cloned is a clone of a VM.
func (c *clusterShadow) cloned(ctx *simulator.Context, vm *simulator.VirtualMachine, s *types.PlacementSpec) *model.Guest {
	g := c.guest(ctx, vm)
	if g.Size.Name = s.CloneName; s.CloneSpec != nil {
		g.Size = model.Reshaped(g.Size, s.CloneSpec.Config)
	}
	return &g
}

// guest is a VM in the form of another cluster.
func (c *clusterShadow) guest(ctx *simulator.Context, vm *simulator.VirtualMachine) (g model.Guest) {
	ctx.WithLock(vm, func() { g = model.GuestOf(&vm.VirtualMachine) })
	return g
}

// stores are the datastores of the cluster's hosts, most free space first, restricted to the
// given ones, if any.
func (c *clusterShadow) stores(ctx *simulator.Context, given []reference) map[reference][]reference {
	var hosts []reference
	ctx.WithLock(c.ClusterComputeResource, func() { hosts = slices.Clone(c.Host) })
	free, all := map[reference]int64{}, map[reference][]reference{}
	for _, ref := range hosts {
		h, ok := c.room.reg.Get(ref).(*simulator.HostSystem)
		if !ok {
			continue
		}
		var list []reference
		ctx.WithLock(h, func() { list = slices.Clone(h.Datastore) })
		list = slices.DeleteFunc(list, func(d reference) bool { return len(given) > 0 && !slices.Contains(given, d) })
		for _, d := range list {
			if o, ok := c.room.reg.Get(d).(*simulator.Datastore); ok {
				ctx.WithLock(o, func() { free[d] = o.Summary.FreeSpace })
			}
		}
		slices.SortStableFunc(list, func(a, b reference) int { return int(min(1, max(-1, free[b]-free[a]))) })
		all[ref] = list
	}
	return all
}

// place chooses in a view of the cluster.
func (w *placementRequest) place(v *model.View) (at placementResult) {
	if w.guest != nil {
		v.With(w.guest, func(id cluster.VMID) { at = w.among(v, id) })
		return at
	}
	id, known := v.VM(*w.vm)
	if !known {
		return placementResult{fault: types.LocalizedMethodFault{Fault: &types.InvalidState{}, LocalizedMessage: "it is a template"}}
	}
	is := model.Reshaped(v.Cluster.VMs[id], w.config)
	if w.stores != nil {
		is.Datastores = nil
	}
	v.Changed(id, is, func() { at = w.among(v, id) })
	return at
}

// among chooses among the hosts of a view.
func (w *placementRequest) among(v *model.View, id cluster.VMID) placementResult {
	if w.admit {
		if why := v.Placer.Denied(id); why != "" {
			return placementResult{fault: refusal(v, id, why)}
		}
	}
	list := v.Placer.Explain(id)
	if now := v.Layout.Host(id); w.stays && now != cluster.Nowhere {
		for i := range list {
			if list[i].Host == now {
				list = append(slices.Clone(list[i:i+1]), list...)
				break
			}
		}
	}
	for _, verdict := range list {
		host := v.Hosts[verdict.Host]
		if verdict.Obstacle.Check != cluster.Fine || len(w.hosts) > 0 && !slices.Contains(w.hosts, host) {
			continue
		}
		if w.stores == nil {
			return placementResult{host: host, cost: verdict.Cost}
		}
		if list := w.stores[host]; len(list) > 0 {
			return placementResult{host: host, store: &list[0], cost: verdict.Cost}
		}
	}
	return placementResult{fault: nowhere(v, id)}
}
