package guest

import (
	"errors"
	"fmt"
	"strings"

	"plimsoll/internal/guest/layout"
	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/parameter"
)

// Settings are what a study may set of a guest. Those that are factors too have the levels
// of the study where it varies them.
type Settings struct {
	VCPUs       int                `name:"vcpus" doc:"number of vCPUs" min:"1" max:"255"`
	Topology    string             `name:"topology" doc:"vCPU topology: spread (one socket per vCPU), auto (as the topology advisor recommends for this host), or SOCKETSxCORES, SOCKETSxCORESxTHREADS, SOCKETSxDIESxCORESxTHREADS"`
	Model       string             `name:"model" doc:"QEMU CPU model and features; empty is host under KVM and an Intel model under TCG"`
	Nodes       int                `name:"nodes" doc:"virtual NUMA nodes; 1 is no virtual NUMA" min:"1" max:"64"`
	Memory      parameter.Bytes    `name:"memory" doc:"guest memory"`
	HugePages   string             `name:"huge_pages" doc:"host huge pages that back guest memory" choices:"none,2MiB,1GiB"`
	HostNodes   string             `name:"host_nodes" doc:"host NUMA nodes of guest memory, such as 0-1; none is the host's default policy"`
	Disk        parameter.Bytes    `name:"disk" doc:"size of the data disk"`
	Controller  string             `name:"controller" doc:"disk controller" choices:"virtio-blk,virtio-scsi,nvme"`
	Cache       string             `name:"cache" doc:"disk cache mode" choices:"none,writeback,writethrough,directsync,unsafe"`
	AIO         string             `name:"aio" doc:"QEMU AIO mode of the disk" choices:"threads,native,io_uring"`
	IOThread    bool               `name:"iothread" doc:"dedicated IOThread for the disk"`
	Queues      int                `name:"queues" doc:"queues of the disk controller; 0 is QEMU's default" min:"0" max:"64"`
	IOFilter    string             `name:"io_filter" doc:"I/O path between disk and file: none, nbd, filters such as null, daemon:null, delay:1ms and stats, or nbdkit with one of its filters"`
	Pmem        parameter.Bytes    `name:"pmem" doc:"size of a virtual NVDIMM; 0 is none"`
	Storage     string             `name:"storage" doc:"storage for workloads: the disk, the NVDIMM through the page cache (pmem), or the NVDIMM with DAX" choices:"disk,pmem,dax"`
	Pin         string             `name:"pin" doc:"CPU affinity of the vCPUs: none, one list for all as in 0-1, or one per vCPU as in 0/1"`
	Scheduler   string             `name:"scheduler" doc:"host scheduling policy of the vCPUs: other, batch, idle or fifo, as in other:5 or fifo:10; empty is plimsoll's own"`
	Network     bool               `name:"network" doc:"network between the guests of the study, through plimsoll's virtual switch"`
	NIC         string             `name:"nic" doc:"network adapter, with network" choices:"virtio-net,vmxnet3,e1000e"`
	Parameters  string             `name:"parameters" doc:"additional kernel command-line parameters"`
	Kernel      string             `name:"kernel" doc:"kernel image; empty is the one fetched by plimsoll guest kernel"`
	Modules     string             `name:"modules" doc:"module folder of that kernel"`
	Accelerator string             `name:"accelerator" doc:"accelerator; auto boots a guest to test KVM, and falls back to TCG" choices:"auto,kvm,tcg"`
	VirtualTime int                `name:"virtual_time" doc:"QEMU icount shift: an instruction takes 2^N ns of virtual time, for repeatable results; one vCPU only; 0 is real time" min:"0" max:"10"`
	Boot        parameter.Duration `name:"boot" doc:"boot timeout"`
}

// shape is the guest that the settings describe.
func (s Settings) shape() (qemu.Shape, error) {
	shape := qemu.Shape{Name: "guest", CPU: qemu.CPU{Count: s.VCPUs, Model: s.Model}, Memory: qemu.Memory{Size: int64(s.Memory)}, Parameters: strings.Fields(s.Parameters)}
	if err := layout.Apply(&shape.CPU, s.Topology); err != nil {
		return shape, err
	}
	if s.VirtualTime > 0 {
		shape.VirtualTime = &qemu.VirtualTime{Shift: s.VirtualTime}
	}
	shape.Memory.HugePage = hugePages[s.HugePages]
	if err := errors.Join(s.checkRoute(), s.fair(), s.nodes(&shape)); err != nil {
		return shape, err
	}
	var err error
	if shape.Pin, err = s.pins(); err != nil {
		return shape, err
	}
	shape.Persistent, err = s.persistent()
	return shape, err
}

// nodes takes over the NUMA nodes: those that the guest is shown, and those of the host
// that they come from.
func (s Settings) nodes(shape *qemu.Shape) error {
	hosts, err := s.hosts()
	if err != nil || s.Nodes < 2 && len(hosts) == 0 {
		return err
	}
	if s.VCPUs%s.Nodes != 0 || int64(s.Memory)%(int64(s.Nodes)<<20) != 0 {
		return fmt.Errorf("nodes: %d vCPUs and %s do not divide among %d nodes", s.VCPUs, s.Memory, s.Nodes)
	}
	each := s.VCPUs / s.Nodes
	for n := range s.Nodes {
		shape.NUMA = append(shape.NUMA, qemu.Node{CPUs: fmt.Sprintf("%d-%d", n*each, n*each+each-1), Memory: int64(s.Memory) / int64(s.Nodes), Host: hosts})
	}
	return nil
}
