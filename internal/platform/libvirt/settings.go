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
	URI         string             `name:"uri" doc:"connection URI, such as qemu:///system; empty is LIBVIRT_DEFAULT_URI, or qemu:///system"`
	Domain      string             `name:"domain" doc:"running domain with plimsoll's agent on a virtio channel named plimsoll; empty creates a transient domain"`
	VCPUs       int                `name:"vcpus" doc:"number of vCPUs" min:"1" max:"255"`
	Topology    string             `name:"topology" doc:"vCPU topology: spread (one socket per vCPU), auto (as the topology advisor recommends for this host), or SOCKETSxCORES, SOCKETSxCORESxTHREADS, SOCKETSxDIESxCORESxTHREADS"`
	Model       string             `name:"model" doc:"CPU model and features; empty is host under KVM and an Intel model under TCG"`
	Nodes       int                `name:"nodes" doc:"virtual NUMA nodes; 1 is no virtual NUMA" min:"1" max:"64"`
	Memory      parameter.Bytes    `name:"memory" doc:"guest memory"`
	Disk        parameter.Bytes    `name:"disk" doc:"size of the data disk"`
	Controller  string             `name:"controller" doc:"disk controller" choices:"virtio-blk,virtio-scsi"`
	Cache       string             `name:"cache" doc:"disk cache mode" choices:"none,writeback,writethrough,directsync,unsafe"`
	AIO         string             `name:"aio" doc:"QEMU AIO mode of the disk" choices:"threads,native,io_uring"`
	IOThread    bool               `name:"iothread" doc:"dedicated IOThread for the disk"`
	Queues      int                `name:"queues" doc:"queues of the disk controller; 0 is QEMU's default" min:"0" max:"64"`
	Parameters  string             `name:"parameters" doc:"additional kernel command-line parameters"`
	Kernel      string             `name:"kernel" doc:"kernel image; empty is the one fetched by plimsoll guest kernel"`
	Modules     string             `name:"modules" doc:"module folder of that kernel"`
	Accelerator string             `name:"accelerator" doc:"accelerator; auto boots a guest to test KVM, and falls back to TCG" choices:"auto,kvm,tcg"`
	Boot        parameter.Duration `name:"boot" doc:"boot timeout, and timeout of the agent in a domain you provide"`
	Folder      string             `name:"folder" doc:"folder for the files of workloads in a domain you provide"`
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
