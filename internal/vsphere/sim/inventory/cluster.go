package inventory

import (
	"context"
	"fmt"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
	"plimsoll/internal/vsphere/sim/release"
)

// clusterBuilder is a cluster in construction.
type clusterBuilder struct {
	in     *builder
	from   *cluster.Cluster
	is     *simulator.ClusterComputeResource
	hosts  []*simulator.HostSystem
	pools  []*simulator.ResourcePool
	vms    []types.ManagedObjectReference
	nets   []*mo.Network // by the model's indexes
	stores []*simulator.Datastore
	usual  *mo.Network // of VMs without a network
}

func (b *builder) cluster(ctx context.Context, c *cluster.Cluster) error {
	s := &clusterBuilder{in: b, from: c}
	folder := b.reg.Get(b.dc.HostFolder).(*simulator.Folder)
	name := c.Name
	if name == "" {
		name = "cluster"
	}
	r := folder.CreateClusterEx(b.context(), &types.CreateClusterEx{This: folder.Self, Name: name})
	if err := faultOf(r); err != nil {
		return err
	}
	s.is = b.reg.Get(r.(*methods.CreateClusterExBody).Res.Returnval).(*simulator.ClusterComputeResource)
	for _, step := range []func(context.Context) error{s.makeNetworks, s.makeHosts, s.makePools, s.makeVMs, s.configure} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *clusterBuilder) makeNetworks(context.Context) error {
	for _, name := range s.from.Networks {
		s.nets = append(s.nets, s.in.network(name))
	}
	if len(s.nets) > 0 {
		s.usual = s.nets[0]
	} else {
		s.usual = s.in.network(defaultNetwork)
	}
	s.is.Network = nil
	for _, n := range s.nets {
		s.is.Network = append(s.is.Network, n.Self)
	}
	if len(s.nets) == 0 {
		s.is.Network = []types.ManagedObjectReference{s.usual.Self}
	}
	s.stores = make([]*simulator.Datastore, len(s.from.Datastores))
	return nil
}

// makeHosts adds the hosts. All but the first are slim copies of it.
func (s *clusterBuilder) makeHosts(ctx context.Context) error {
	browser := s.in.reg.Get(*s.is.EnvironmentBrowser).(*simulator.EnvironmentBrowser)
	var refs []types.ManagedObjectReference
	for i := range s.from.Hosts {
		if err := ctx.Err(); err != nil {
			return err
		}
		h, err := s.add(s.from.Hosts[i].Name, i == 0)
		if err != nil {
			return fmt.Errorf("add host %s: %w", s.from.Hosts[i].Name, err)
		}
		// The browser would list all hosts for each one added.
		browser.QueryConfigOptionDescriptorResponse.Returnval = nil
		refs = append(refs, h.Self)
		s.hosts = append(s.hosts, h)
		if err := s.host(h, &s.from.Hosts[i]); err != nil {
			return err
		}
	}
	browser.QueryConfigOptionDescriptorResponse.Returnval = release.Options(refs)
	s.summary()
	return nil
}

// add adds a host to the cluster.
func (s *clusterBuilder) add(name string, first bool) (*simulator.HostSystem, error) {
	spec := types.HostConnectSpec{HostName: name}
	if !first {
		spec.UserName = s.from.Hosts[0].Name // the host to copy
	}
	r := s.is.AddHostTask(s.in.context(), &types.AddHost_Task{This: s.is.Self, AsConnected: true, Spec: spec})
	if err := faultOf(r); err != nil {
		return nil, err
	}
	task := s.in.reg.Get(r.(*methods.AddHost_TaskBody).Res.Returnval).(*simulator.Task)
	s.in.reg.WithLock(s.in.context(), s.is, func() {}) // the task holds the lock; its own Wait polls
	if err := s.in.run(task.Self); err != nil {
		return nil, err
	}
	h := s.in.reg.Get(task.Info.Result.(types.ManagedObjectReference)).(*simulator.HostSystem)
	if first {
		slim(h.Config)
	}
	return h, nil
}

// slim removes large properties of the first host that its copies do not need: certificate,
// services, disks.
func slim(c *types.HostConfigInfo) {
	c.Certificate, c.Firewall, c.StorageDevice, c.Service = nil, nil, nil, nil
	c.PciPassthruInfo, c.FeatureCapability, c.Capabilities, c.OptionDef = nil, nil, nil, nil
	c.AuthenticationManagerInfo, c.PowerSystemCapability, c.PowerSystemInfo = nil, nil, nil
}

// summary sums up the cluster.
func (s *clusterBuilder) summary() {
	sum := &types.ClusterComputeResourceSummary{UsageSummary: new(types.ClusterUsageSummary)}
	sum.OverallStatus = types.ManagedEntityStatusGreen
	for i := range s.from.Hosts {
		h := &s.from.Hosts[i]
		sum.NumHosts++
		sum.NumCpuCores += int16(h.Cores())
		sum.NumCpuThreads += int16(h.Cores() * max(1, h.ThreadsPerCore))
		sum.TotalCpu += int32(int64(h.Cores()) * h.MHz)
		sum.TotalMemory += h.Memory
		if h.Runs() {
			sum.NumEffectiveHosts++
		}
		if h.Usable() {
			has := h.Capacity()
			sum.EffectiveCpu += int32(has.CPU)
			sum.EffectiveMemory += has.Memory >> 20
		}
	}
	s.is.Summary = sum
}

// host sets the hardware, state, networks and datastores of a host.
func (s *clusterBuilder) host(h *simulator.HostSystem, from *cluster.Host) error {
	h.Hardware = hardware(h.Hardware, from)
	summary := *h.Summary.Hardware
	summary.CpuMhz, summary.MemorySize = int32(from.MHz), from.Memory
	summary.NumCpuPkgs, summary.NumCpuCores = int16(from.Sockets), int16(from.Cores())
	summary.NumCpuThreads = int16(from.Cores() * max(1, from.ThreadsPerCore))
	summary.Uuid = h.Hardware.SystemInfo.Uuid
	h.Summary.Hardware = &summary
	product := release.Product(h.Config.Product)
	h.Config.Product, h.Summary.Config.Product = product, &product
	state(&h.Runtime, from.State)
	limits(h, from)
	h.Network = nil
	for _, n := range from.Networks {
		h.Network = append(h.Network, s.nets[n].Self)
	}
	if len(s.nets) == 0 {
		h.Network = []types.ManagedObjectReference{s.usual.Self}
	}
	for _, ref := range h.Network {
		net := s.in.reg.Get(ref).(*mo.Network)
		net.Host = append(net.Host, h.Self)
	}
	reserve(h, from)
	h.Vm, h.Datastore = nil, nil
	return s.datastores(h, from)
}

// reserve sets the hypervisor's own resources.
func reserve(h *simulator.HostSystem, from *cluster.Host) {
	system := &types.HostSystemResourceInfo{Key: "host/system", Config: &types.ResourceConfigSpec{
		CpuAllocation:    allocation(cluster.Allocation{Reservation: from.Overhead.CPU, Limit: cluster.Unlimited}, cluster.ShareCustom, 1),
		MemoryAllocation: allocation(cluster.Allocation{Reservation: from.Overhead.Memory, Limit: cluster.Unlimited}, cluster.ShareCustom, mib),
	}}
	h.SystemResources = system
	if h.Config != nil {
		h.Config.SystemResources = system
	}
}

func (s *clusterBuilder) datastores(h *simulator.HostSystem, from *cluster.Host) error {
	for _, d := range from.Datastores {
		made, err := s.in.store(s.from.Datastores[d], h)
		if err != nil {
			return err
		}
		s.stores[d] = made
	}
	if len(s.from.Datastores) == 0 {
		_, err := s.in.store(defaultDatastore, h)
		return err
	}
	return nil
}

// state sets the runtime state of a host.
func state(r *types.HostRuntimeInfo, is cluster.HostState) {
	now := time.Now()
	r.BootTime = &now
	r.ConnectionState, r.PowerState = types.HostSystemConnectionStateConnected, types.HostSystemPowerStatePoweredOn
	switch is {
	case cluster.Maintenance:
		r.InMaintenanceMode = true
	case cluster.Quarantined:
		r.InQuarantineMode = types.NewBool(true)
	case cluster.Standby:
		r.PowerState = types.HostSystemPowerStateStandBy
	case cluster.Failed:
		r.ConnectionState, r.PowerState = types.HostSystemConnectionStateNotResponding, types.HostSystemPowerStateUnknown
	}
}

// limits sets the limits of a host, and the link of its migrations.
func limits(h *simulator.HostSystem, from *cluster.Host) {
	if h.Capability != nil {
		has := *h.Capability
		has.MaxRunningVMs, has.MaxHostRunningVms, has.MaxRegisteredVMs = int32(from.MostVMs), int32(from.MostVMs), int32(from.MostVMs)
		h.Capability = &has
	}
	if h.Config == nil || h.Config.Network == nil || from.NIC == 0 {
		return
	}
	for i := range h.Config.Network.Pnic {
		h.Config.Network.Pnic[i].LinkSpeed = &types.PhysicalNicLinkInfo{SpeedMb: int32(from.NIC / 1_000_000), Duplex: true}
	}
}

// hardware is the hardware of a host: packages, threads and NUMA nodes, numbered as ESXi does.
func hardware(is *types.HostHardwareInfo, from *cluster.Host) *types.HostHardwareInfo {
	made := *is
	threads := max(1, from.ThreadsPerCore)
	made.CpuInfo = types.HostCpuInfo{
		NumCpuPackages: int16(from.Sockets), NumCpuCores: int16(from.Cores()), NumCpuThreads: int16(from.Cores() * threads), Hz: from.MHz * 1_000_000,
	}
	made.MemorySize = from.Memory
	nodes := &types.HostNumaInfo{Type: "NUMA", NumNodes: int32(from.Nodes())}
	made.CpuPkg, made.NumaInfo = nil, nodes
	perNode, perSocket := from.CoresPerNode*threads, from.NodesPerSocket*from.CoresPerNode*threads
	each := from.Memory / int64(max(1, from.Nodes()))
	for n := range from.Nodes() {
		node := types.HostNumaNode{TypeId: byte(n), MemorySize: each, MemoryRangeBegin: int64(n) * each, MemoryRangeLength: each}
		for t := range perNode {
			node.CpuID = append(node.CpuID, int16(n*perNode+t))
		}
		nodes.NumaNode = append(nodes.NumaNode, node)
	}
	for p := range from.Sockets {
		pkg := types.HostCpuPackage{Index: int16(p), Vendor: "intel", Hz: from.MHz * 1_000_000, BusHz: 100_000_000, Description: "simulated"}
		for t := range perSocket {
			pkg.ThreadId = append(pkg.ThreadId, int16(p*perSocket+t))
		}
		made.CpuPkg = append(made.CpuPkg, pkg)
	}
	return &made
}
