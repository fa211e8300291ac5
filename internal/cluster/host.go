package cluster

// Host is a hypervisor of the cluster.
type Host struct {
	Name  string
	State HostState

	Sockets        int
	NodesPerSocket int // NUMA nodes
	CoresPerNode   int
	ThreadsPerCore int
	CoresPerCache  int   // that share a last-level cache; 0: all of a node
	MHz            int64 // of a core
	Memory         int64 // bytes
	NodeMemory     int64 // bytes of the smallest NUMA node; 0: all have an equal part
	Overhead       Resources
	// Factor is the usable part of the cores' capacity, per mille: 1000, or less under a
	// scheduling policy that does not let VMs share the threads of a core.
	Factor int

	NIC        int64   // bit/s that migrations can use
	Networks   []int32 // sorted indexes of Cluster.Networks
	Datastores []int32
	MostVMs    int // 0: no limit
}

// HostState is the availability of a host.
type HostState string

// The states of a host. VMs run on a host in maintenance only until they are moved;
// quarantined hosts keep their VMs and get no others.
const (
	Connected   HostState = "connected"
	Maintenance HostState = "maintenance"
	Quarantined HostState = "quarantined"
	Standby     HostState = "standby"
	Failed      HostState = "failed"
)

// Said is the state as the end of a sentence that begins with the host.
func (s HostState) Said() string {
	switch s {
	case Maintenance:
		return "is in maintenance"
	case Standby:
		return "is on standby"
	case Failed:
		return "has failed"
	}
	return "is " + string(s)
}

// Cores is the number of physical cores.
func (h *Host) Cores() int { return h.Sockets * h.NodesPerSocket * h.CoresPerNode }

// Nodes is the number of NUMA nodes.
func (h *Host) Nodes() int { return h.Sockets * h.NodesPerSocket }

// Capacity is the host's capacity for VMs, without the hypervisor's overhead.
func (h *Host) Capacity() Resources {
	return Resources{
		CPU:    max(0, int64(h.Cores())*h.MHz*int64(h.Factor)/1000-h.Overhead.CPU),
		Memory: max(0, h.Memory-h.Overhead.Memory),
	}
}

// Usable reports whether VMs may be placed on the host.
func (h *Host) Usable() bool { return h.State == Connected }

// Runs reports whether VMs on the host run.
func (h *Host) Runs() bool {
	return h.State == Connected || h.State == Maintenance || h.State == Quarantined
}
