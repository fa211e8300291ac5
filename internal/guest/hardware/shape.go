// Package hardware describes the virtual hardware of a VM: processors, memory, disks and
// network cards. It has no side effects: a Shape is checked against the host and the release
// of QEMU, and written as arguments of QEMU or as a domain of libvirt. What QEMU or its
// accelerator cannot provide is refused with the reason.
package hardware

import (
	"fmt"

	"plimsoll/internal/cluster/topology"
)

// Shape is the virtual hardware of a guest.
type Shape struct {
	Name       string // letters, digits, dots and dashes; names processes and files
	CPU        CPU
	Memory     Memory
	NUMA       []Node // virtual NUMA nodes, with CPU.Topology explicit or spread
	Disks      []Disk
	NICs       []NIC
	Persistent []Persistent
	// Parameters are appended to the kernel's command line, so that they override the
	// defaults.
	Parameters []string
	// VirtualTime counts instructions as time in the guest: a single vCPU has repeatable
	// timing whatever the host does. Its figures are those of no real machine.
	VirtualTime *VirtualTime
	// Pin holds, by vCPU, the CPUs of the host on which it may run, such as "0-3,8"; empty: no
	// pinning.
	Pin []string
}

// Topology selects the layout of vCPUs over sockets and NUMA nodes.
type Topology string

const (
	Spread   Topology = "spread"   // each vCPU is a socket
	Auto     Topology = "auto"     // as package topology recommends for the host
	Explicit Topology = "explicit" // by Sockets, Dies, Cores and Threads
)

// CPU is the processors of a guest.
type CPU struct {
	Count    int      // vCPUs, 1 or more
	Topology Topology // empty is Explicit

	// With Explicit: their product is Count. 0 is 1, except for Cores, which is then derived.
	// Dies are per socket, cores per die, threads per core.
	Sockets, Dies, Cores, Threads int

	// Advice are the options of the recommendation, with Auto. The zero value exposes NUMA
	// nodes whatever the number of vCPUs.
	Advice topology.Options
	// Model is a CPU model of QEMU with its features, such as "EPYC-Milan,l3-cache=off".
	// Empty: that of the host under KVM, DefaultModel under TCG.
	Model string
}

// DefaultModel is the CPU model under TCG, which supports threads and dies of Intel models
// only.
const DefaultModel = "Haswell-noTSX"

// Memory is the memory of a guest.
type Memory struct {
	Size int64 // bytes, whole MiB
	// HugePage is the size in bytes of the host's huge pages that back it; 0: base pages.
	HugePage int64
	// Shared has the memory in a file that QEMU is given as a descriptor, so that others see it.
	Shared bool
}

// Node is a NUMA node of a guest.
type Node struct {
	CPUs   string // of the guest, such as "0-3"
	Memory int64  // bytes, whole MiB
	Host   []int  // NUMA nodes of the host for its memory; none: any
}

// Controller is how a disk is attached.
type Controller string

const (
	VirtioBlk  Controller = "virtio-blk"  // a paravirtual disk
	PVSCSI     Controller = "pvscsi"      // of vSphere
	SATA       Controller = "sata"        // of vSphere
	VirtioSCSI Controller = "virtio-scsi" // a paravirtual SCSI controller with one disk
	NVMe       Controller = "nvme"        // an emulated NVMe drive
)

// Backing is the storage of a disk's blocks.
type Backing string

const (
	BackingFile  Backing = "file"  // an ordinary file of the host
	BackingNBD   Backing = "nbd"   // a server on a unix socket
	BackingImage Backing = "image" // an image of a Ceph cluster, by QEMU's driver rbd
)

// Image is an image of a Ceph cluster.
type Image struct {
	Conf       string // path of the configuration that leads to the cluster
	Pool, Name string
}

// Disk is a disk of a guest. Name is its serial number there. An NVMe drive reports a write
// cache in every cache mode; writethrough and directsync write through nevertheless.
type Disk struct {
	Name       string
	Size       int64 // bytes, whole sectors of 512; ignored for NBD
	Controller Controller
	Backing    Backing
	Path       string // of the file; empty: a new one in the guest's folder
	Socket     string // of the NBD server
	Image      Image
	Cache      string // none, writeback, writethrough, directsync, unsafe; empty is none
	AIO        string // threads, native, io_uring; empty is threads
	IOThread   bool   // a dedicated thread handles its requests
	Queues     int    // 0: QEMU's default
	ReadOnly   bool   // of BackingFile: several guests may use the same file
}

// Model is a network card.
type Model string

const (
	VirtioNet Model = "virtio-net" // a paravirtual card
	VMXNet3   Model = "vmxnet3"    // VMware's paravirtual card, emulated
	E1000e    Model = "e1000e"     // an emulated Intel card
)

// NIC is a network adapter of a guest, with one queue: several would need a tap device.
type NIC struct {
	Name   string
	Model  Model
	Socket string // of the switch
	MAC    string // empty: derived from the names of guest and adapter
}

// Persistent is an NVDIMM of a guest, backed by a file; a guest can map it with MAP_SYNC.
type Persistent struct {
	Name string
	Size int64  // bytes, whole 2 MiB
	Path string // of the file; empty: a new one in the guest's folder
}

// VirtualTime is the rate of virtual time in a guest that counts instructions.
type VirtualTime struct {
	Shift int // an instruction takes 2^Shift ns, 0 to 10; guests boot fast from 3 on
}

// Movable reports whether two processes can share the files of the VM, as a migration
// requires.
func (s Shape) Movable() error {
	if len(s.Persistent) > 0 {
		return fmt.Errorf("persistent memory %s: the target would write old pages into the file while the source still uses it: omit it", s.Persistent[0].Name)
	}
	for _, d := range s.Disks {
		if d.Backing == BackingFile && d.Path == "" {
			return fmt.Errorf("disk %s is in a file of the guest's own folder, and the target has another: give both the same path", d.Name)
		}
	}
	return nil
}
