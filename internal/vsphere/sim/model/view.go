package model

import (
	"cmp"
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/divvy"
	"plimsoll/internal/cluster/place"
	"plimsoll/internal/vsphere/config"
)

// View is a cluster of the simulator in the model, with the underlying objects.
type View struct {
	Cluster *cluster.Cluster
	Index   *cluster.Index
	Layout  *cluster.Layout
	Placer  *place.Placer // with admission to pools, for the layout
	Pools   *divvy.Ledger
	Hosts   []reference // by the model's indexes
	VMs     []reference
	DRS     types.ClusterDrsConfigInfo
	HA      bool

	editor *cluster.Editor
	site   *clusterConfig
	byVM   map[reference]types.ClusterDrsVmConfigInfo
	hosts  map[reference]cluster.HostID
	pools  map[reference]cluster.PoolID
	index  map[reference]int32 // of networks and datastores
	ruled  map[reference]bool  // VMs in rules
	stale  bool                // the placer has a former state
}

// VM is the index of a VM.
func (v *View) VM(ref reference) (cluster.VMID, bool) {
	at, known := slices.BinarySearchFunc(v.VMs, ref, byAge)
	return cluster.VMID(at), known
}

// byAge orders objects by creation.
func byAge(a, b reference) int { return compareNames(a.Value, b.Value) }

// Host is the index of a host.
func (v *View) Host(ref reference) (cluster.HostID, bool) {
	id, known := v.hosts[ref]
	return id, known
}

// Behavior is the automation level of a VM; empty if DRS is disabled for it.
func (v *View) Behavior(ref reference) types.DrsBehavior {
	own, has := v.byVM[ref]
	return behavior(&v.DRS, own, has)
}

func behavior(drs *types.ClusterDrsConfigInfo, own types.ClusterDrsVmConfigInfo, has bool) types.DrsBehavior {
	if !config.Yes(drs.Enabled) {
		return ""
	}
	is := cmp.Or(drs.DefaultVmBehavior, types.DrsBehaviorFullyAutomated)
	if has && (drs.EnableVmBehaviorOverrides == nil || *drs.EnableVmBehaviorOverrides) {
		if own.Enabled != nil && !*own.Enabled {
			return ""
		}
		is = cmp.Or(own.Behavior, is)
	}
	return is
}

// Leaves reports whether powering on a VM needs no decision: DRS does not place it, and it
// needs no admission. It costs less than a view.
func (m *Model) Leaves(ctx *simulator.Context, of, ref reference) bool {
	c, ok := m.reg.Get(of).(*simulator.ClusterComputeResource)
	if !ok {
		return true
	}
	m.mu.Lock()
	vm := m.vms[ref]
	reserves := vm == nil || vm.size.CPU.Reservation > 0 || vm.size.Mem.Reservation > 0
	m.mu.Unlock()
	if reserves {
		return false
	}
	leaves := true
	ctx.WithLock(c, func() {
		set, ok := c.ConfigurationEx.(*types.ClusterConfigInfoEx)
		if !ok {
			return
		}
		var own types.ClusterDrsVmConfigInfo
		at := slices.IndexFunc(set.DrsVmConfig, func(o types.ClusterDrsVmConfigInfo) bool { return o.Key == ref })
		if at >= 0 {
			own = set.DrsVmConfig[at]
		}
		is := behavior(&set.DrsConfig, own, at >= 0)
		leaves = (is == "" || is == types.DrsBehaviorManual) && config.Settings(set, len(c.Host)).SpareHosts == 0
	})
	return leaves
}

// Decide calls a function with the view of a cluster, which it may change: its decisions are
// carried out afterwards. Decisions are serialised. Locks of hosts, pools and the cluster must
// be free.
func (m *Model) Decide(ctx *simulator.Context, of reference, do func(*View)) bool {
	m.mu.Lock()
	v := m.views[of]
	if v != nil {
		defer m.mu.Unlock()
		v.fresh()
		do(v)
		return true
	}
	dropped := m.dropped
	m.mu.Unlock()
	c, ok := m.reg.Get(of).(*simulator.ClusterComputeResource)
	if !ok {
		return false
	}
	s := m.read(ctx, c)
	m.mu.Lock()
	defer m.mu.Unlock()
	if v = m.views[of]; v == nil {
		v = m.view(s)
		if m.dropped == dropped {
			m.views[of] = v
		}
	}
	v.fresh()
	do(v)
	return true
}

// clusterConfig is the state of a cluster without its VMs.
type clusterConfig struct {
	name  string
	set   types.ClusterConfigInfoEx
	hosts []host
	pools []pool
	names map[reference]string // of networks and datastores
}

type host struct {
	ref                  reference
	is                   cluster.Host
	networks, datastores []reference
}

type pool struct {
	ref, parent reference
	is          cluster.Pool
}

// read reads a cluster, one object at a time.
func (m *Model) read(ctx *simulator.Context, c *simulator.ClusterComputeResource) *clusterConfig {
	s := &clusterConfig{names: map[reference]string{}}
	var hosts []reference
	var root *reference
	ctx.WithLock(c, func() {
		s.name, hosts, root = c.Name, slices.Clone(c.Host), c.ResourcePool
		if is, ok := c.ConfigurationEx.(*types.ClusterConfigInfoEx); ok {
			s.set = *is
			s.set.Rule, s.set.Group, s.set.DrsVmConfig = slices.Clone(is.Rule), slices.Clone(is.Group), slices.Clone(is.DrsVmConfig)
		}
	})
	for _, ref := range hosts {
		if h, ok := m.reg.Get(ref).(*simulator.HostSystem); ok {
			ctx.WithLock(h, func() { s.hosts = append(s.hosts, hostOf(h)) })
		}
	}
	for _, h := range s.hosts {
		for _, list := range [][]reference{h.networks, h.datastores} {
			for _, ref := range list {
				if e, ok := m.reg.Get(ref).(mo.Entity); ok && s.names[ref] == "" {
					s.names[ref] = e.Entity().Name
				}
			}
		}
	}
	if root != nil {
		m.readPools(ctx, s, *root, reference{})
	}
	return s
}

// readPools reads a pool and its descendants, parents first.
func (m *Model) readPools(ctx *simulator.Context, s *clusterConfig, ref, parent reference) {
	p, ok := m.reg.Get(ref).(*simulator.ResourcePool)
	if !ok {
		return
	}
	var below []reference
	ctx.WithLock(p, func() {
		below = slices.Clone(p.ResourcePool.ResourcePool)
		above := cluster.PoolID(cluster.Nowhere)
		if parent.Value != "" {
			above = 0 // until the pools have indexes
		}
		made := config.Pool(&p.Config, p.Name, above)
		s.pools = append(s.pools, pool{ref, parent, made})
	})
	for _, child := range below {
		m.readPools(ctx, s, child, ref)
	}
}

// hostOf is a host of the model, without the indexes of networks and datastores. It is locked.
func hostOf(h *simulator.HostSystem) host {
	numaNodes := 0
	if info := h.Hardware; info != nil && info.NumaInfo != nil {
		numaNodes = int(info.NumaInfo.NumNodes)
	}
	is := config.Host(h.Name, h.Summary.Hardware, numaNodes)
	r := &h.Runtime
	is.State = config.State(r.PowerState, r.ConnectionState, r.InMaintenanceMode, config.Yes(r.InQuarantineMode))
	if h.Capability != nil {
		is.MostVMs = int(max(0, h.Capability.MaxHostRunningVms))
	}
	if r := h.SystemResources; r != nil && r.Config != nil {
		is.Overhead = cluster.Resources{CPU: config.CPU(&r.Config.CpuAllocation).Reservation, Memory: config.Memory(&r.Config.MemoryAllocation).Reservation}
	}
	links := config.LinksOf(h.Config)
	is.NIC = links.Migration()
	return host{h.Self, is, slices.Clone(h.Network), slices.Clone(h.Datastore)}
}

// view is the cluster of the model. The model is locked.
func (m *Model) view(s *clusterConfig) *View {
	v := &View{DRS: s.set.DrsConfig, HA: config.Yes(s.set.DasConfig.Enabled), site: s, hosts: map[reference]cluster.HostID{},
		pools: map[reference]cluster.PoolID{}, byVM: map[reference]types.ClusterDrsVmConfigInfo{}, ruled: named(&s.set)}
	for _, o := range s.set.DrsVmConfig {
		v.byVM[o.Key] = o
	}
	c := &cluster.Cluster{Name: s.name, Settings: config.Settings(&s.set, len(s.hosts))}
	v.index = s.indexes(c)
	for i := range s.hosts {
		h := &s.hosts[i]
		h.is.Networks, h.is.Datastores = config.Indexes(h.networks, v.index), config.Indexes(h.datastores, v.index)
		if m.draining[h.ref] && h.is.State == cluster.Connected {
			h.is.State = cluster.Maintenance
		}
		v.hosts[h.ref], v.Hosts, c.Hosts = cluster.HostID(i), append(v.Hosts, h.ref), append(c.Hosts, h.is)
	}
	for i := range s.pools {
		p := s.pools[i]
		if i > 0 {
			p.is.Parent = v.pools[p.parent]
		}
		v.pools[p.ref], c.Pools = cluster.PoolID(i), append(c.Pools, p.is)
	}
	for ref, is := range m.vms {
		if v.has(is) {
			v.VMs = append(v.VMs, ref)
		}
	}
	slices.SortFunc(v.VMs, byAge)
	c.VMs = make([]cluster.VM, len(v.VMs))
	for i, ref := range v.VMs {
		c.VMs[i] = v.machine(ref, m.vms[ref])
	}
	v.Cluster = c
	c.Rules = v.rules()
	v.Index = cluster.NewIndex(c)
	v.Layout = cluster.NewLayout(c, v.Index)
	v.Pools = divvy.NewLedger(c, v.Index, v.Index.Total(c), nil)
	v.editor, v.stale = cluster.NewEditor(v.Layout), true
	return v
}
