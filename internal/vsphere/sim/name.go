package sim

import (
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/policy"
	"plimsoll/internal/vsphere/config"
)

// escaped are the options with the names of all entities in vSphere's encoding.
func escaped(o Options) Options {
	made := map[*cluster.Cluster]*cluster.Cluster{}
	o.Clusters, o.Load = slices.Clone(o.Clusters), slices.Clone(o.Load)
	for i, c := range o.Clusters {
		made[c] = escapedCluster(c)
		o.Clusters[i] = made[c]
	}
	for i := range o.Load {
		c := o.Load[i].Cluster
		if made[c] == nil {
			made[c] = escapedCluster(c)
		}
		o.Load[i].Cluster = made[c]
	}
	if o.Storage != nil {
		o.Storage = escapedStorage(o.Storage)
	}
	return o
}

func escapedCluster(c *cluster.Cluster) *cluster.Cluster {
	is := *c
	is.Name = config.Escape(c.Name)
	is.Hosts, is.VMs, is.Pools = slices.Clone(c.Hosts), slices.Clone(c.VMs), slices.Clone(c.Pools)
	is.Networks, is.Datastores = escapedAll(c.Networks), escapedAll(c.Datastores)
	for i := range is.Hosts {
		is.Hosts[i].Name = config.Escape(is.Hosts[i].Name)
	}
	for i := range is.VMs {
		is.VMs[i].Name = config.Escape(is.VMs[i].Name)
	}
	for i := range is.Pools {
		is.Pools[i].Name = config.Escape(is.Pools[i].Name)
	}
	return &is
}

// escapedStorage escapes the names of VMs and datastores; policies and tags are not entities.
func escapedStorage(s *policy.Inventory) *policy.Inventory {
	is := *s
	is.VMs, is.Datastores = slices.Clone(s.VMs), slices.Clone(s.Datastores)
	for i := range is.Datastores {
		is.Datastores[i].Name = config.Escape(is.Datastores[i].Name)
	}
	for i := range is.VMs {
		vm := &is.VMs[i]
		vm.Name, vm.Disks = config.Escape(vm.Name), slices.Clone(vm.Disks)
		vm.Home.Datastore = config.Escape(vm.Home.Datastore)
		for k := range vm.Disks {
			vm.Disks[k].Datastore = config.Escape(vm.Disks[k].Datastore)
		}
	}
	return &is
}

func escapedAll(names []string) []string {
	names = slices.Clone(names)
	for i := range names {
		names[i] = config.Escape(names[i])
	}
	return names
}
