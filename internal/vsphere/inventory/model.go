package inventory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
	"plimsoll/internal/vsphere/config"
)

const (
	mib = 1 << 20
)

// reference is short for the identifier of an object of the vCenter.
type reference = types.ManagedObjectReference

// model is a cluster of the model, with the identifiers of the underlying objects.
type model struct {
	state   *cluster.Cluster
	hosts   map[reference]cluster.HostID
	pools   map[reference]cluster.PoolID
	vms     map[reference]cluster.VMID
	links   map[reference]int32 // networks
	stores  map[reference]int32 // datastores
	hostIDs []reference
	vmIDs   []reference
	pinned  map[reference]bool
}

// build builds the model. Its order does not depend on that of the vCenter.
func (s *state) build(now time.Time) *model {
	m := &model{state: &cluster.Cluster{Name: s.root.name, At: stamp(now)}}
	c := m.state
	c.Settings = config.Settings(&s.root.config, len(s.hosts))
	m.pinned = pinned(&s.root.config)
	m.links, c.Networks = s.named("Network", func(yield func([]reference)) {
		for _, h := range s.hosts {
			yield(h.networks)
		}
		for _, v := range s.vms {
			yield(v.networks)
		}
	})
	m.stores, c.Datastores = s.named("Datastore", func(yield func([]reference)) {
		for _, h := range s.hosts {
			yield(h.datastores)
		}
		for _, v := range s.vms {
			yield(v.datastores)
		}
	})

	hosts := sorted(s.hosts, func(h *host) string { return h.name })
	m.hosts = make(map[reference]cluster.HostID, len(hosts))
	for i, name := range unique(hosts, func(h *host) (string, reference) { return h.name, h.ref }) {
		m.hosts[hosts[i].ref] = cluster.HostID(i)
		m.hostIDs = append(m.hostIDs, hosts[i].ref)
		c.Hosts = append(c.Hosts, m.host(hosts[i], name))
	}
	m.buildPools(s.pools)
	s.order = slices.DeleteFunc(sorted(s.vms, (*vm).called), func(v *vm) bool { return !v.usable() })
	m.list(s.order, func(v *vm, name string) cluster.VM { return m.vm(v, name) })
	c.Rules = m.rules(&s.root.config)
	return m
}

func (v *vm) called() string { return v.name }

// list builds the list of VMs by a conversion function.
func (m *model) list(vms []*vm, convert func(v *vm, name string) cluster.VM) {
	m.vms = make(map[reference]cluster.VMID, len(vms))
	m.vmIDs, m.state.VMs = make([]reference, len(vms)), make([]cluster.VM, len(vms))
	for i, name := range unique(vms, func(v *vm) (string, reference) { return v.name, v.ref }) {
		v := vms[i]
		m.state.VMs[i] = convert(v, name)
		m.vms[v.ref], m.vmIDs[i] = cluster.VMID(i), v.ref
		v.at = i
	}
}

// recast is the model after VMs were added, removed or renamed, and others changed. It reuses
// unchanged ones.
func (m *model) recast(s *state, now time.Time) *model {
	next := m.with(s, now)
	fresh := map[reference]*vm{}
	for ref := range s.resort {
		if v := s.vms[ref]; v != nil && v.usable() {
			fresh[ref] = v
			s.dirtyVMs[ref] = true
		}
	}
	s.order = merge(slices.DeleteFunc(s.order, func(v *vm) bool { return s.resort[v.ref] }), sorted(fresh, (*vm).called))
	was := m.state.VMs
	next.list(s.order, func(v *vm, name string) cluster.VM {
		if s.dirtyVMs[v.ref] {
			return next.vm(v, name)
		}
		same := was[v.at]
		same.Name = name
		return same
	})
	next.state.Rules = next.rules(&s.root.config)
	return next
}

// merge merges two sorted lists of VMs.
func merge(a, b []*vm) []*vm {
	out := make([]*vm, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if before(a[0].name, b[0].name, a[0].ref, b[0].ref) < 0 {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// before orders objects by name, then by identifier.
func before(a, b string, x, y reference) int {
	return cmp.Or(strings.Compare(a, b), cmp.Compare(len(x.Value), len(y.Value)), strings.Compare(x.Value, y.Value))
}

// with is the model after changes of VMs and hosts, with the same objects and names. It shares
// the rest.
func (m *model) with(s *state, now time.Time) *model {
	next, c := *m, *m.state
	c.At = stamp(now)
	if len(s.dirtyVMs) > 0 {
		c.VMs = slices.Clone(c.VMs)
		for ref := range s.dirtyVMs {
			if at, has := m.vms[ref]; has {
				c.VMs[at] = m.vm(s.vms[ref], c.VMs[at].Name)
			}
		}
	}
	if len(s.dirtyHosts) > 0 {
		c.Hosts = slices.Clone(c.Hosts)
		for ref := range s.dirtyHosts {
			if at, has := m.hosts[ref]; has {
				c.Hosts[at] = m.host(s.hosts[ref], c.Hosts[at].Name)
			}
		}
	}
	next.state = &c
	return &next
}

func stamp(now time.Time) string { return now.UTC().Format(time.RFC3339) }

func (m *model) host(h *host, name string) cluster.Host {
	out := config.Host(name, &h.hardware, h.numa)
	out.State = config.State(h.power, h.connection, h.maintenance, h.suspect)
	out.NIC, out.MostVMs = h.links.Migration(), h.mostVMs
	out.Networks, out.Datastores = config.Indexes(h.networks, m.links), config.Indexes(h.datastores, m.stores)
	return out
}

func (m *model) vm(v *vm, name string) cluster.VM {
	on := cluster.HostID(cluster.Nowhere)
	if at, known := m.hosts[v.host]; known && v.power == types.VirtualMachinePowerStatePoweredOn {
		on = at
	}
	out := cluster.VM{
		Name: name, Host: on, Pool: m.pools[v.pool],
		VCPUs: int(v.vcpus), CoresPerSocket: int(v.cores), HotAdd: v.hotAdd, Memory: int64(v.memory) * mib,
		CPU: config.CPU(&v.cpu), Mem: config.Memory(&v.mem), Overhead: cmp.Or(v.overhead, v.initial),
		Networks: config.Indexes(v.networks, m.links), Datastores: config.Indexes(v.datastores, m.stores),
		Pinned: m.pinned[v.ref] || v.bound || v.devices, Tied: v.bound || v.devices,
	}
	if v.auto && v.power != types.VirtualMachinePowerStatePoweredOn {
		out.CoresPerSocket = 0 // from the last time that it ran
	}
	if v.power == types.VirtualMachinePowerStatePoweredOn {
		out.Demand = cluster.Demand{CPU: v.demand, Active: v.active, Consumed: int64(max(0, v.stats.consumed)) * mib}
	}
	config.VMShares(&out, &v.cpu)
	return out
}

// sorted lists objects by name, then by identifier.
func sorted[O any](objects map[reference]O, name func(O) string) []O {
	type keyed struct {
		name string
		ref  reference
		o    O
	}
	list := make([]keyed, 0, len(objects))
	for ref, o := range objects {
		list = append(list, keyed{name(o), ref, o})
	}
	slices.SortFunc(list, func(a, b keyed) int { return before(a.name, b.name, a.ref, b.ref) })
	out := make([]O, len(list))
	for i, k := range list {
		out[i] = k.o
	}
	return out
}

// unique names objects that are sorted by name: the identifier is appended to duplicates, and
// to names that look like such a result.
func unique[O any](objects []O, key func(O) (string, reference)) []string {
	names := make([]string, len(objects))
	for i, o := range objects {
		name, ref := key(o)
		shared := false
		for _, j := range []int{i - 1, i + 1} {
			if j >= 0 && j < len(objects) {
				other, _ := key(objects[j])
				shared = shared || other == name
			}
		}
		names[i] = name
		if shared || strings.HasSuffix(name, ")") && strings.Contains(name, " (") {
			names[i] = fmt.Sprintf("%s (%s)", name, ref.Value)
		}
	}
	return names
}

// named indexes the networks or datastores that objects refer to, by name.
func (s *state) named(kind string, all func(func([]reference))) (map[reference]int32, []string) {
	type item struct {
		name string
		ref  reference
	}
	seen := map[reference]item{}
	all(func(list []reference) {
		for _, r := range list {
			if _, has := seen[r]; !has {
				seen[r] = item{cmp.Or(s.names[r], kind+" "+r.Value), r}
			}
		}
	})
	items := sorted(seen, func(i item) string { return i.name })
	names := unique(items, func(i item) (string, reference) { return i.name, i.ref })
	index := make(map[reference]int32, len(items))
	for i := range items {
		index[items[i].ref] = int32(i)
	}
	return index, names
}
