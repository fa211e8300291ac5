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
	VCPUs       int                `name:"vcpus" doc:"virtual CPUs" min:"1" max:"255"`
	Topology    string             `name:"topology" doc:"how they are laid out: spread (a socket each), auto (as the cluster's advisor says for this host), or SOCKETSxCORES, SOCKETSxCORESxTHREADS, SOCKETSxDIESxCORESxTHREADS"`
	Model       string             `name:"model" doc:"CPU model of QEMU with its features; empty is the host's own under KVM, and an Intel one under TCG"`
	Nodes       int                `name:"nodes" doc:"NUMA nodes that the guest is shown; 1 shows none" min:"1" max:"64"`
	Memory      parameter.Bytes    `name:"memory" doc:"memory of the guest"`
	HugePages   string             `name:"huge_pages" doc:"huge pages of the host that back the memory" choices:"none,2MiB,1GiB"`
	HostNodes   string             `name:"host_nodes" doc:"NUMA nodes of the host that the memory comes from, such as 0-1; none leaves it to the host"`
	Disk        parameter.Bytes    `name:"disk" doc:"size of the disk that workloads write to"`
	Controller  string             `name:"controller" doc:"how the disk is attached" choices:"virtio-blk,virtio-scsi,nvme"`
	Cache       string             `name:"cache" doc:"cache mode of the disk on the host" choices:"none,writeback,writethrough,directsync,unsafe"`
	AIO         string             `name:"aio" doc:"how QEMU does the disk's I/O" choices:"threads,native,io_uring"`
	IOThread    bool               `name:"iothread" doc:"a thread of its own for the disk"`
	Queues      int                `name:"queues" doc:"queues of the disk; 0 leaves them to QEMU" min:"0" max:"64"`
	IOFilter    string             `name:"io_filter" doc:"what lies between the disk and its file: none, nbd, filters such as null, daemon:null, delay:1ms and stats, or nbdkit with a filter of its own"`
	Pmem        parameter.Bytes    `name:"pmem" doc:"size of an NVDIMM; 0 is none"`
	Storage     string             `name:"storage" doc:"where workloads write: the disk, the NVDIMM through the page cache, or the NVDIMM with DAX" choices:"disk,pmem,dax"`
	Pin         string             `name:"pin" doc:"CPUs of the host for the vCPUs: none, a list for all as in 0-1, or one for each as in 0/1"`
	Scheduler   string             `name:"scheduler" doc:"how the host schedules the vCPUs: other, batch, idle or fifo, as in other:5 or fifo:10; empty is as plimsoll itself"`
	Network     bool               `name:"network" doc:"a network between the guests of the study, with plimsoll's own switch"`
	NIC         string             `name:"nic" doc:"network card, where there is a network" choices:"virtio-net,vmxnet3,e1000e"`
	Parameters  string             `name:"parameters" doc:"more for the kernel's command line"`
	Kernel      string             `name:"kernel" doc:"path of a kernel image; empty is the one that plimsoll guest kernel fetched"`
	Modules     string             `name:"modules" doc:"folder of that kernel's modules"`
	Accelerator string             `name:"accelerator" doc:"auto boots a guest to find out whether KVM works" choices:"auto,kvm,tcg"`
	VirtualTime int                `name:"virtual_time" doc:"an instruction takes two to this power nanoseconds of the guest's time, for results that repeat; one vCPU only; 0 is real time" min:"0" max:"10"`
	Boot        parameter.Duration `name:"boot" doc:"longest time that a boot may take"`
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
