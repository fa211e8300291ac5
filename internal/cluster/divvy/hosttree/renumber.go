package hosttree

import (
	"errors"
	"fmt"

	"plimsoll/internal/cluster"
)

// Numbers are common ids for the pools and VMs of two snapshots: the ids of the earlier one,
// and higher ids for those that only the later one has. A snapshot's ids are indexes, so the
// same name may have different ids in both.
type Numbers struct {
	pools     []cluster.PoolID // by id in the later snapshot
	vms       []cluster.VMID
	poolNames []string // by id
	vmNames   []string
}

// Match numbers two snapshots by names. The roots match whatever their names. Duplicate names
// are an error, and so are two snapshots without a name in common.
func Match(before, after *cluster.Cluster) (*Numbers, error) {
	n := &Numbers{}
	pools, shared, err := match(poolNames(before), poolNames(after))
	if err != nil {
		return nil, fmt.Errorf("match the pools of two snapshots: %w", err)
	}
	vms, sharedVMs, err := match(vmNames(before), vmNames(after))
	if err != nil {
		return nil, fmt.Errorf("match the VMs of two snapshots: %w", err)
	}
	some := func(c *cluster.Cluster) bool { return len(c.Pools) > 1 || len(c.VMs) > 0 }
	if shared+sharedVMs == 0 && some(before) && some(after) {
		return nil, errors.New("match two snapshots: no pool or VM name in common: use two snapshots of the same cluster")
	}
	n.pools, n.vms = []cluster.PoolID{0}, make([]cluster.VMID, 0, len(vms.ids))
	for _, id := range pools.ids {
		n.pools = append(n.pools, cluster.PoolID(id)+1)
	}
	for _, id := range vms.ids {
		n.vms = append(n.vms, cluster.VMID(id))
	}
	root := ""
	if len(after.Pools) > 0 {
		root = after.Pools[0].Name
	}
	n.poolNames, n.vmNames = append([]string{root}, pools.names...), vms.names
	return n, nil
}

// matched is one kind of thing in two snapshots.
type matched struct {
	ids   []int32  // by index in the later list
	names []string // by id
}

func match(before, after []string) (m matched, shared int, err error) {
	at := make(map[string]int32, len(before))
	for i, name := range before {
		if _, taken := at[name]; taken {
			return m, 0, fmt.Errorf("the name %q is not unique in the earlier one", name)
		}
		at[name] = int32(i)
		m.names = append(m.names, name)
	}
	seen := make(map[string]bool, len(after))
	for _, name := range after {
		if seen[name] {
			return m, 0, fmt.Errorf("the name %q is not unique in the later one", name)
		}
		seen[name] = true
		id, known := at[name]
		if known {
			shared++
		} else {
			id = int32(len(m.names))
			m.names = append(m.names, name)
		}
		m.ids = append(m.ids, id)
	}
	return m, shared, nil
}

// poolNames are the names of the pools except the root.
func poolNames(c *cluster.Cluster) (names []string) {
	for i := 1; i < len(c.Pools); i++ {
		names = append(names, c.Pools[i].Name)
	}
	return names
}

func vmNames(c *cluster.Cluster) (names []string) {
	for i := range c.VMs {
		names = append(names, c.VMs[i].Name)
	}
	return names
}

// Renumber is a host's tree of the later snapshot with these ids, for Diff against one of the
// earlier snapshot. It fails for ids that the snapshot does not have.
func (n *Numbers) Renumber(t *Tree) (*Tree, error) {
	pools, vms := make([]Pool, 0, len(t.pools)), make([]VM, 0, len(t.vms))
	known := func(p cluster.PoolID) bool { return p >= 0 && int(p) < len(n.pools) }
	for _, p := range t.pools {
		if !known(p.ID) || p.Parent != cluster.Nowhere && !known(p.Parent) {
			return nil, fmt.Errorf("renumber a host's tree: pool %d or its parent %d is not in the later snapshot", p.ID, p.Parent)
		}
		if p.ID = n.pools[p.ID]; p.Parent != cluster.Nowhere {
			p.Parent = n.pools[p.Parent]
		}
		pools = append(pools, p)
	}
	for _, v := range t.vms {
		if !known(v.Pool) || v.VM < 0 || int(v.VM) >= len(n.vms) {
			return nil, fmt.Errorf("renumber a host's tree: VM %d or its pool %d is not in the later snapshot", v.VM, v.Pool)
		}
		v.VM, v.Pool = n.vms[v.VM], n.pools[v.Pool]
		vms = append(vms, v)
	}
	return New(pools, vms)
}

// PoolName is the name of a pool under these ids; empty for an unused id.
func (n *Numbers) PoolName(p cluster.PoolID) string { return named(n.poolNames, int32(p)) }

// VMName is the name of a VM under these ids; empty for an unused id.
func (n *Numbers) VMName(v cluster.VMID) string { return named(n.vmNames, int32(v)) }

func named(names []string, id int32) string {
	if id < 0 || int(id) >= len(names) {
		return ""
	}
	return names[id]
}
