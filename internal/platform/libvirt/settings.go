package libvirt

import (
	"fmt"
	"strings"

	"plimsoll/internal/guest/layout"
	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/parameter"
)

// Settings are what a study may set. With a domain that is there, all but uri, boot and
// folder are its owner's.
type Settings struct {
	URI         string             `name:"uri" doc:"address of the daemon, such as qemu:///system; empty is LIBVIRT_DEFAULT_URI, or qemu:///system"`
	Domain      string             `name:"domain" doc:"a running domain that has plimsoll's agent on a virtio channel named plimsoll; empty makes one for the study"`
	VCPUs       int                `name:"vcpus" doc:"virtual CPUs" min:"1" max:"255"`
	Topology    string             `name:"topology" doc:"how they are laid out: spread (a socket each), auto (as the cluster's advisor says for this host), or SOCKETSxCORES, SOCKETSxCORESxTHREADS, SOCKETSxDIESxCORESxTHREADS"`
	Model       string             `name:"model" doc:"CPU model with its features; empty is the host's own under KVM, and an Intel one under TCG"`
	Nodes       int                `name:"nodes" doc:"NUMA nodes that the guest is shown; 1 shows none" min:"1" max:"64"`
	Memory      parameter.Bytes    `name:"memory" doc:"memory of the guest"`
	Disk        parameter.Bytes    `name:"disk" doc:"size of the disk that workloads write to"`
	Controller  string             `name:"controller" doc:"how the disk is attached" choices:"virtio-blk,virtio-scsi"`
	Cache       string             `name:"cache" doc:"cache mode of the disk on the host" choices:"none,writeback,writethrough,directsync,unsafe"`
	AIO         string             `name:"aio" doc:"how QEMU does the disk's I/O" choices:"threads,native,io_uring"`
	IOThread    bool               `name:"iothread" doc:"a thread of its own for the disk"`
	Queues      int                `name:"queues" doc:"queues of the disk; 0 leaves them to QEMU" min:"0" max:"64"`
	Parameters  string             `name:"parameters" doc:"more for the kernel's command line"`
	Kernel      string             `name:"kernel" doc:"path of a kernel image; empty is the one that plimsoll guest kernel fetched"`
	Modules     string             `name:"modules" doc:"folder of that kernel's modules"`
	Accelerator string             `name:"accelerator" doc:"auto boots a guest to find out whether KVM works" choices:"auto,kvm,tcg"`
	Boot        parameter.Duration `name:"boot" doc:"longest time that a boot may take, or until the agent of a domain answers"`
	Folder      string             `name:"folder" doc:"folder in a domain that is there for what workloads need"`
}

// shape is the guest that the settings describe.
func (s Settings) shape(name string) (qemu.Shape, error) {
	shape := qemu.Shape{Name: name, CPU: qemu.CPU{Count: s.VCPUs, Model: s.Model}, Memory: qemu.Memory{Size: int64(s.Memory)}, Parameters: strings.Fields(s.Parameters)}
	if err := layout.Apply(&shape.CPU, s.Topology); err != nil {
		return shape, err
	}
	if s.Nodes < 2 {
		return shape, nil
	}
	if s.VCPUs%s.Nodes != 0 || int64(s.Memory)%(int64(s.Nodes)<<20) != 0 {
		return shape, fmt.Errorf("nodes: %d vCPUs and %s do not divide among %d nodes", s.VCPUs, s.Memory, s.Nodes)
	}
	each := s.VCPUs / s.Nodes
	for n := range s.Nodes {
		shape.NUMA = append(shape.NUMA, qemu.Node{CPUs: fmt.Sprintf("%d-%d", n*each, n*each+each-1), Memory: int64(s.Memory) / int64(s.Nodes)})
	}
	return shape, nil
}

// disk is the disk that workloads write to.
func (s Settings) disk(path string) qemu.Disk {
	return qemu.Disk{
		Name: "data", Size: int64(s.Disk), Controller: qemu.Controller(s.Controller), Backing: qemu.BackingFile, Path: path,
		Cache: s.Cache, AIO: s.AIO, IOThread: s.IOThread, Queues: s.Queues,
	}
}
