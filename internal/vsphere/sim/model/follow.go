package model

import (
	"slices"

	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/place"
	"plimsoll/internal/vsphere/config"
)

// The methods below update a view incrementally: the cost of a change depends on the VM. The
// model is locked.

// has reports whether a VM belongs to the view.
func (v *View) has(is *vm) bool {
	if is == nil || is.template {
		return false
	}
	_, here := v.hosts[is.host]
	return here
}

// machine converts a VM of the view to the model.
func (v *View) machine(ref reference, is *vm) cluster.VM {
	made := is.size
	made.Host, made.Pool = cluster.Nowhere, v.pools[is.pool]
	if is.on {
		made.Host = v.hosts[is.host]
	}
	made.Networks, made.Datastores = config.Indexes(is.networks, v.index), config.Indexes(is.datastores, v.index)
	made.Pinned = v.Behavior(ref) == "" && config.Yes(v.DRS.Enabled)
	return made
}

// follow updates a VM from its former to its new record; nil is none.
func (v *View) follow(ref reference, was, is *vm) {
	had, has := v.has(was), v.has(is)
	switch {
	case had && !has:
		v.remove(ref)
	case !had && has:
		v.add(ref, is)
	case has && was.same(is):
		v.move(ref, is)
	case has:
		v.change(ref, is)
	}
}

func (v *View) add(ref reference, is *vm) {
	id, _ := v.VM(ref)
	made := v.machine(ref, is)
	v.VMs = slices.Insert(v.VMs, int(id), ref)
	v.editor.Add(id, made)
	v.Pools.Add(id)
	if made.Host != cluster.Nowhere {
		v.Pools.Take(id)
	}
	v.rule(ref)
	v.stale = true
}

func (v *View) remove(ref reference) {
	id, _ := v.VM(ref)
	v.Pools.Remove(id)
	v.editor.Remove(id)
	v.VMs = slices.Delete(v.VMs, int(id), int(id)+1)
	v.rule(ref)
	v.stale = true
}

func (v *View) change(ref reference, is *vm) {
	id, _ := v.VM(ref)
	made := v.machine(ref, is)
	v.Pools.Drop(id)
	v.editor.Change(id, made)
	if made.Host != cluster.Nowhere {
		v.Pools.Take(id)
	}
	v.stale = true
}

// move updates the host of a VM.
func (v *View) move(ref reference, is *vm) {
	id, _ := v.VM(ref)
	to := cluster.HostID(cluster.Nowhere)
	if is.on {
		to = v.hosts[is.host]
	}
	v.Cluster.VMs[id].Host = to
	v.put(id, to)
}

// put sets the host of a VM in the layout and the pools, or none.
func (v *View) put(id cluster.VMID, to cluster.HostID) {
	switch from := v.Layout.Host(id); {
	case from == to:
		return
	case to == cluster.Nowhere:
		v.Pools.Drop(id)
	case from == cluster.Nowhere:
		v.Pools.Take(id)
	}
	v.Layout.Move(id, to)
}

// rule converts the rules again if they name a VM that was added or removed.
func (v *View) rule(ref reference) {
	if v.ruled[ref] {
		v.editor.Rule(v.rules())
	}
}

// rules are those that concern VMs of the view.
func (v *View) rules() []cluster.Rule {
	ids := make(map[reference]cluster.VMID, len(v.ruled))
	for ref := range v.ruled {
		if id, known := v.VM(ref); known {
			ids[ref] = id
		}
	}
	return config.Rules(&v.site.set, ids, v.hosts)
}

// named are the VMs in rules of a cluster.
func named(set *types.ClusterConfigInfoEx) map[reference]bool {
	all := map[reference]bool{}
	note := func(list []reference) {
		for _, ref := range list {
			all[ref] = true
		}
	}
	for _, g := range set.Group {
		if g, ok := g.(*types.ClusterVmGroup); ok {
			note(g.Vm)
		}
	}
	for _, r := range set.Rule {
		switch r := r.(type) {
		case *types.ClusterAffinityRuleSpec:
			note(r.Vm)
		case *types.ClusterAntiAffinityRuleSpec:
			note(r.Vm)
		}
	}
	return all
}

// fresh updates the placer to the present state.
func (v *View) fresh() {
	if v.stale {
		v.Placer, v.stale = place.New(v.Layout, v.Index), false
		v.Placer.Ask(v.Pools)
	}
}
