package proxmox

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/snapshot"
	"plimsoll/internal/live"
	"plimsoll/internal/proxmox"
)

// view is the cluster at one time, with state outside the model.
type view struct {
	*reading
	cluster *cluster.Cluster
	seats   map[int]placement
	states  map[string]cluster.HostState
}

// placement is the position of a VM.
type placement struct {
	name, node string
	runs       bool
	ha         string // its state in the HA manager; empty if not managed by it
}

// hostState is that of a node in the model. A node that does not respond keeps its VMs, and
// gets no others: whether they run is for the HA manager to find out.
func (n *node) hostState() cluster.HostState {
	switch {
	case !n.online:
		return cluster.Quarantined
	case n.state == "maintenance" || n.marked:
		return cluster.Maintenance
	}
	return cluster.Connected
}

// newView builds the model.
func newView(r *reading, loads map[int]*load) *view {
	v := &view{reading: r, seats: map[int]placement{}, states: map[string]cluster.HostState{}}
	c := &cluster.Cluster{Name: r.name, At: r.at.UTC().Format(time.RFC3339), Pools: []cluster.Pool{snapshot.DefaultRoot()}, Settings: cluster.DefaultSettings()}
	c.Settings.Consumed = true // a hypervisor cannot reclaim memory that a VM consumes
	v.cluster = c
	for _, n := range r.nodes {
		c.Networks = append(c.Networks, n.bridge...)
		c.Datastores = append(c.Datastores, n.stores...)
	}
	for _, list := range []*[]string{&c.Networks, &c.Datastores} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	hosts := map[string]cluster.HostID{}
	for _, name := range slices.Sorted(maps.Keys(r.nodes)) {
		n := r.nodes[name]
		v.states[name] = n.hostState()
		if !n.known {
			continue // it has not responded since the watch began
		}
		hosts[name] = cluster.HostID(len(c.Hosts))
		h := n.host
		h.Name, h.State = name, v.states[name]
		h.Networks, h.Datastores = indexes(c.Networks, n.bridge), indexes(c.Datastores, n.stores)
		c.Hosts = append(c.Hosts, h)
	}
	v.place(hosts, loads)
	v.govern(hosts)
	return v
}

// indexes are the sorted positions of names in a sorted list.
func indexes(all, names []string) (list []int32) {
	for _, name := range names {
		if i, found := slices.BinarySearch(all, name); found {
			list = append(list, int32(i))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// plain is a name that is valid in a snapshot.
func plain(name string, id int) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == '*' || r == 0x7f {
			return '_'
		}
		return r
	}, strings.TrimSpace(strings.ToValidUTF8(name, "_")))
	if name == "" || len(name) > 150 {
		return "VM " + strconv.Itoa(id)
	}
	return name
}

func (v *view) place(hosts map[string]cluster.HostID, loads map[int]*load) {
	all := slices.SortedFunc(maps.Values(v.guests), func(a, b *guest) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.id, b.id))
	})
	names, ids := make([]string, len(all)), make([]string, len(all))
	for i, g := range all {
		names[i], ids[i] = plain(g.Name, g.id), strconv.Itoa(g.id)
	}
	for i, name := range live.Unique(names, ids) {
		g := all[i]
		n := v.nodes[g.Node]
		vm := v.vm(g)
		vm.Name = name
		at, has := hosts[g.Node]
		// The state of VMs of a node that does not respond is unknown: they count as running.
		runs := g.running() || g.Status == "unknown" && loads[g.id] != nil
		if runs && has {
			vm.Host = at
			if l := loads[g.id]; l != nil {
				vm.Demand = l.demand
				vm.Mem.Reservation = min(l.demand.Consumed, vm.Memory)
			}
		}
		vm.Pinned = vm.Pinned || n == nil || !n.online || g.Lock != ""
		v.cluster.VMs = append(v.cluster.VMs, vm)
		v.seats[g.id] = placement{name, g.Node, runs, g.HAState}
	}
}

// vm is the model of a VM, without its host and load.
func (v *view) vm(g *guest) cluster.VM {
	vcpus, memory := int(max(1, min(1024, g.MaxCPU.Int(1024)))), max(1<<20, g.MaxMem.Int(1<<50))
	cpu, mem := cluster.VMShares(cluster.ShareNormal, vcpus, memory)
	if g.shape.units > 0 {
		cpu = g.shape.units
	}
	x := cluster.VM{
		Host: cluster.Nowhere, VCPUs: vcpus, CoresPerSocket: min(max(0, g.shape.cores), vcpus), Memory: memory,
		CPU: cluster.Allocation{Limit: cluster.Unlimited, Shares: cpu}, Mem: cluster.Allocation{Limit: cluster.Unlimited, Shares: mem},
		Pinned: g.shape.tied != "", Tied: g.shape.tied != "",
	}
	if n := v.nodes[g.Node]; n != nil && n.known && g.shape.limit > 0 {
		x.CPU.Limit = max(1, g.shape.limit*n.host.MHz/1000)
	}
	bridges, disks := strings.Fields(g.shape.bridge), strings.Fields(g.shape.disks)
	x.Networks, x.Datastores = indexes(v.cluster.Networks, bridges), indexes(v.cluster.Datastores, disks)
	if len(x.Datastores) < len(disks) {
		x.Pinned, x.Tied = true, true // a disk on a storage that is not shared
	}
	return x
}

// govern adds the rules of the HA manager.
func (v *view) govern(hosts map[string]cluster.HostID) {
	vms := map[int]cluster.VMID{}
	byName := map[string]cluster.VMID{}
	for i := range v.cluster.VMs {
		byName[v.cluster.VMs[i].Name] = cluster.VMID(i)
	}
	for id, s := range v.seats {
		vms[id] = byName[s.name]
	}
	taken := map[string]bool{}
	for i, r := range v.rules {
		rule, fine := ruleOf(r, vms, hosts)
		if !fine {
			continue
		}
		if rule.Name = plain(r.Name, i); taken[rule.Name] {
			rule.Name = fmt.Sprintf("%s (%d)", rule.Name, i)
		}
		taken[rule.Name] = true
		v.cluster.Rules = append(v.cluster.Rules, rule)
	}
}

// ruleOf is a rule of the HA manager in the model; not fine if nothing is left of it.
func ruleOf(r proxmox.Rule, vms map[int]cluster.VMID, hosts map[string]cluster.HostID) (x cluster.Rule, fine bool) {
	x.Disabled = r.Disabled > 0
	for resource := range strings.SplitSeq(r.Resources, ",") {
		kind, text, typed := strings.Cut(strings.TrimSpace(resource), ":")
		if !typed {
			kind, text = "vm", kind
		}
		id, err := strconv.Atoi(text)
		if vm, known := vms[id]; err == nil && kind == "vm" && known {
			x.VMs = append(x.VMs, vm)
		}
	}
	for part := range strings.SplitSeq(r.Nodes, ",") {
		name, _, _ := strings.Cut(strings.TrimSpace(part), ":") // the rest is its priority
		if h, known := hosts[name]; known {
			x.Hosts = append(x.Hosts, h)
		}
	}
	slices.Sort(x.VMs)
	slices.Sort(x.Hosts)
	x.VMs, x.Hosts = slices.Compact(x.VMs), slices.Compact(x.Hosts)
	switch {
	case r.Type == "node-affinity":
		x.Kind, x.Must = cluster.OnHosts, r.Strict > 0
		return x, len(x.VMs) > 0 && len(x.Hosts) > 0
	case r.Type == "resource-affinity" && r.Affinity == "positive":
		x.Kind, x.Must = cluster.Together, true
	case r.Type == "resource-affinity" && r.Affinity == "negative":
		x.Kind, x.Must = cluster.Apart, true
	default:
		return x, false
	}
	x.Hosts = nil
	return x, len(x.VMs) > 1
}
