package spec

import (
	"errors"
	"fmt"
)

// Fabrics between a VM and its disk.
const (
	OverTCP  = "tcp"  // NVMe over TCP
	OverRDMA = "rdma" // NVMe over RDMA
)

// SoftRoCE warns of what figures of RDMA in software say.
const SoftRoCE = "guest.fabric rdma is soft-RoCE: software does the work of RDMA devices; read mechanism and CPU, and never a speed of RDMA"

// OverFabric reports whether another VM exports the disk over a fabric.
func (g Guest) OverFabric() bool { return g.Fabric == OverTCP || g.Fabric == OverRDMA }

// checkFabric refuses settings that a disk over a fabric does not have.
func (g Guest) checkFabric() error {
	if !g.OverFabric() {
		return nil
	}
	every, _ := g.Checkpoints()
	for _, c := range []struct {
		wrong  bool
		reason string
	}{
		{!g.Network, "the disk is another guest's, which a network leads to: set network: true, in arms without a fabric too"},
		{g.Backing == ImageBacking, "the disk must be a file of the host: set backing: file"},
		{g.Storage == OnPmem || g.Storage == OnDAX, "workloads must write to the disk: set storage: disk"},
		{every > 0, "no checkpoint covers the guest with the disk: omit protection"},
		{g.VirtualTime > 0, "two guests have no virtual time in common: omit virtual_time"},
	} {
		if c.wrong {
			return fmt.Errorf("fabric %s: %s", g.Fabric, c.reason)
		}
	}
	return nil
}

const (
	targetVCPUs  = 1
	targetMemory = 192 << 20
)

// Target returns the settings of the VM that exports the disk over a fabric: those of the disk, one vCPU, and what exporting takes.
func (g Guest) Target() Guest {
	t := g
	t.VCPUs, t.Topology, t.Nodes, t.Memory = targetVCPUs, "spread", 1, targetMemory
	t.HugePages, t.HostNodes, t.Pin, t.Scheduler, t.Parameters = Unset, Unset, Unset, "", ""
	t.Pmem, t.Storage, t.Fabric = 0, OnDisk, Unset
	return t
}

// Holder is the VM that has the disk on a controller: the VM itself, or the one that exports the disk to it.
func (r Running) Holder() Running {
	if r.Target != nil {
		return *r.Target
	}
	return r
}

// ErrOverFabric is the error of operations that need the disk on a controller of the VM.
var ErrOverFabric = errors.New("the disk is another guest's over a fabric: set fabric: none")
