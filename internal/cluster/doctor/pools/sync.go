package pools

import (
	"errors"
	"fmt"
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/divvy"
	"plimsoll/internal/cluster/divvy/hosttree"
)

// Sync is the update of each host's copy of the pools from one snapshot's entitlements to the
// next one's.
type Sync struct {
	Before  string     `json:"before"` // names of the clusters
	After   string     `json:"after"`
	Hosts   []HostSync `json:"hosts"`
	Ops     int        `json:"operations"`
	Skipped int        `json:"skipped"` // pools in equal parts, which were skipped
	Rebuild int        `json:"rebuild"` // operations of destroying and creating everything
	Gone    []string   `json:"gone,omitempty"`
	all     bool       // every operation is reported
}

// HostSync is that of one host. The operations are in a valid order: no pool ever has more
// reserved in it than it reserves.
type HostSync struct {
	Host    string   `json:"host"`
	New     bool     `json:"new,omitempty"` // only the later snapshot has it
	Pools   int      `json:"pools"`         // in the later snapshot, the root included
	Skipped int      `json:"skipped"`
	Rebuild int      `json:"rebuild"`
	Ops     []SyncOp `json:"operations"`
}

// SyncOp is one operation. Fields that it does not set are absent.
type SyncOp struct {
	Verb   string      `json:"verb"`
	VM     string      `json:"vm,omitempty"`
	Pool   string      `json:"pool"`             // the pool changed, or the VM's pool afterwards
	Parent string      `json:"parent,omitempty"` // of a pool that is created or moved
	Name   string      `json:"name,omitempty"`   // that a pool gets
	CPU    *SyncAmount `json:"cpu,omitempty"`    // MHz
	Memory *SyncAmount `json:"memory,omitempty"` // bytes
}

// SyncAmount is the allocation of a resource to a pool or a VM.
type SyncAmount struct {
	Reservation int64  `json:"reservation"`
	Limit       *int64 `json:"limit,omitempty"` // absent for no limit
	Shares      int64  `json:"shares"`
}

// SyncHosts finds the operations that update hosts from one snapshot to a later one; with a
// name, those of that host. Pools, VMs and hosts are matched by name. It fails if the
// snapshots have nothing in common, or the later one lacks the named host.
func SyncHosts(before, after *cluster.Cluster, only string, keep hosttree.Tolerance) (*Sync, error) {
	numbers, err := hosttree.Match(before, after)
	if err != nil {
		return nil, err
	}
	s := &Sync{Before: before.Name, After: after.Name, Hosts: []HostSync{}, all: only != ""}
	at := map[string]int{}
	for i := range before.Hosts {
		at[before.Hosts[i].Name] = i
	}
	from, to := hostTrees(before), hostTrees(after)
	common := 0
	for i := range after.Hosts {
		name := after.Hosts[i].Name
		j, known := at[name]
		if known {
			common++
		}
		delete(at, name)
		if only != "" && name != only {
			continue
		}
		h := HostSync{Host: name, New: !known}
		now, err := emptyTree(numbers)
		if known {
			now = from[j]
		}
		if err == nil {
			err = h.plan(numbers, now, to[i], keep)
		}
		if err != nil {
			return nil, fmt.Errorf("sync host %s: %w", name, err)
		}
		s.add(h)
	}
	switch {
	case common == 0:
		return nil, errors.New("sync hosts: no host name in common: use two snapshots of the same cluster?")
	case only != "" && len(s.Hosts) == 0:
		return nil, fmt.Errorf("sync hosts: the later snapshot has no host %q", only)
	}
	for i := range before.Hosts {
		if _, gone := at[before.Hosts[i].Name]; gone && only == "" {
			s.Gone = append(s.Gone, before.Hosts[i].Name)
		}
	}
	return s, nil
}

func (s *Sync) add(h HostSync) {
	s.Hosts = append(s.Hosts, h)
	s.Ops, s.Skipped, s.Rebuild = s.Ops+len(h.Ops), s.Skipped+h.Skipped, s.Rebuild+h.Rebuild
}

func hostTrees(c *cluster.Cluster) []*hosttree.Tree {
	x := cluster.NewIndex(c)
	return divvy.Divide(c, x, x.Total(c), nil).HostTrees(cluster.NewLayout(c, x))
}

// emptyTree is the tree of a host without an allocation, not even its own capacity.
func emptyTree(n *hosttree.Numbers) (*hosttree.Tree, error) {
	none := hosttree.Grant{Shares: 1}
	return hosttree.New([]hosttree.Pool{{Parent: cluster.Nowhere, Name: n.PoolName(0), CPU: none, Mem: none}}, nil)
}

// plan finds the operations, and checks them on a copy.
func (h *HostSync) plan(n *hosttree.Numbers, from, later *hosttree.Tree, keep hosttree.Tolerance) error {
	to, err := n.Renumber(later)
	if err != nil {
		return err
	}
	diff := hosttree.Diff(from, to, keep)
	if _, err := from.Clone().Apply(diff.Ops...); err != nil {
		return err
	}
	h.Pools, h.Skipped, h.Rebuild, h.Ops = len(to.Pools()), diff.Skipped, diff.Rebuild, []SyncOp{}
	for i := range diff.Ops {
		h.Ops = append(h.Ops, syncOp(n, &diff.Ops[i]))
	}
	return nil
}

func syncOp(n *hosttree.Numbers, o *hosttree.Op) SyncOp {
	out := SyncOp{Verb: o.Verb.String(), Pool: n.PoolName(o.Pool), VM: n.VMName(o.VM), Parent: n.PoolName(o.Parent)}
	everything := o.Verb == hosttree.CreatePool || o.Verb == hosttree.EnterVM
	sets := func(f hosttree.Fields) bool {
		return everything || o.Sets&f != 0 && !slices.Contains([]hosttree.Verb{hosttree.DestroyPool, hosttree.LeaveVM}, o.Verb)
	}
	if o.Verb != hosttree.CreatePool && sets(hosttree.SetsName) && o.Name != "" {
		out.Name = o.Name
	}
	if sets(hosttree.SetsCPU) {
		out.CPU = syncAmount(o.CPU)
	}
	if sets(hosttree.SetsMem) {
		out.Memory = syncAmount(o.Mem)
	}
	return out
}

func syncAmount(g hosttree.Grant) *SyncAmount {
	a := &SyncAmount{Reservation: g.Reservation, Shares: g.Shares}
	if g.Limit != cluster.Unlimited {
		a.Limit = &g.Limit
	}
	return a
}
