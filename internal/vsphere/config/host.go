package config

import (
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
)

// Host is a host with the topology of its hardware. The number of NUMA nodes may be 0 for
// unknown. Nodes that span sockets, as with interleaved memory, count as one per socket.
func Host(name string, hardware *types.HostHardwareSummary, numaNodes int) cluster.Host {
	sockets := max(1, int(hardware.NumCpuPkgs))
	cores := max(sockets, int(hardware.NumCpuCores))
	nodes := 1
	if numaNodes > sockets && numaNodes%sockets == 0 && cores%numaNodes == 0 {
		nodes = numaNodes / sockets
	}
	return cluster.Host{
		Name: name, Sockets: sockets, NodesPerSocket: nodes, CoresPerNode: max(1, cores/(sockets*nodes)),
		ThreadsPerCore: max(1, int(hardware.NumCpuThreads)/cores),
		MHz:            max(1, int64(hardware.CpuMhz)), Memory: hardware.MemorySize, Factor: 1000,
	}
}

// State is the state of a host.
func State(power types.HostSystemPowerState, connection types.HostSystemConnectionState, maintenance, quarantine bool) cluster.HostState {
	switch {
	case power == types.HostSystemPowerStateStandBy:
		return cluster.Standby
	case connection == types.HostSystemConnectionStateDisconnected:
		return cluster.Quarantined // its VMs keep running, but the vCenter cannot move them
	case connection != types.HostSystemConnectionStateConnected:
		return cluster.Failed
	case maintenance:
		return cluster.Maintenance
	case quarantine:
		return cluster.Quarantined
	}
	return cluster.Connected
}
