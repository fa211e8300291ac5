// Package spec is the settings of a VM that a platform boots for a study, values derived from
// them, and the contract of platforms that run such VMs.
package spec

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/layout"
	"plimsoll/internal/parameter"
)

// Guest are the settings of a VM. Package factor/vm varies most of them.
type Guest struct {
	VCPUs       int                `name:"vcpus" doc:"number of vCPUs" min:"1" max:"255"`
	Topology    string             `name:"topology" doc:"vCPU topology: spread (one socket per vCPU), auto (as the topology advisor recommends for this host), or SOCKETSxCORES, SOCKETSxCORESxTHREADS, SOCKETSxDIESxCORESxTHREADS"`
	Model       string             `name:"model" doc:"QEMU CPU model and features; empty is host under KVM and an Intel model under TCG"`
	Nodes       int                `name:"nodes" doc:"virtual NUMA nodes; 1 is no virtual NUMA" min:"1" max:"64"`
	Memory      parameter.Bytes    `name:"memory" doc:"guest memory"`
	HugePages   string             `name:"huge_pages" doc:"host huge pages that back guest memory" choices:"none,2MiB,1GiB"`
	HostNodes   string             `name:"host_nodes" doc:"host NUMA nodes of guest memory, such as 0-1; none is the host's default policy"`
	DiskSize    parameter.Bytes    `name:"disk" doc:"size of the data disk"`
	Backing     string             `name:"backing" doc:"what the disk is: a file of the host, or an image of the study's Ceph cluster; auto is an image where there is a cluster" choices:"auto,file,image"`
	Controller  string             `name:"controller" doc:"disk controller" choices:"virtio-blk,virtio-scsi,nvme"`
	Cache       string             `name:"cache" doc:"disk cache mode" choices:"none,writeback,writethrough,directsync,unsafe"`
	AIO         string             `name:"aio" doc:"QEMU AIO mode of the disk" choices:"threads,native,io_uring"`
	IOThread    bool               `name:"iothread" doc:"dedicated IOThread for the disk"`
	Queues      int                `name:"queues" doc:"queues of the disk controller; 0 is QEMU's default" min:"0" max:"64"`
	IOFilter    string             `name:"io_filter" doc:"I/O path between disk and file: none, nbd, filters such as null, daemon:null, delay:1ms and stats, or nbdkit with one of its filters"`
	Protection  string             `name:"protection" doc:"standby that takes over at the last checkpoint of the guest: none, or checkpoint:INTERVAL, as in checkpoint:100ms; needs io_filter: nbd"`
	Standby     string             `name:"standby" doc:"other host for the standby, by ssh: HOST, or USER@HOST:PORT; empty is this host"`
	Fabric      string             `name:"fabric" doc:"fabric between the guest and its disk, which another guest exports: NVMe over TCP, or over RDMA by soft-RoCE; needs network: true" choices:"none,tcp,rdma"`
	Pmem        parameter.Bytes    `name:"pmem" doc:"size of a virtual NVDIMM; 0 is none"`
	Storage     string             `name:"storage" doc:"storage for workloads: the disk, the NVDIMM through the page cache (pmem), or the NVDIMM with DAX" choices:"disk,pmem,dax"`
	Pin         string             `name:"pin" doc:"CPU affinity of the vCPUs: none, one list for all as in 0-1, or one per vCPU as in 0/1"`
	Scheduler   string             `name:"scheduler" doc:"host scheduling policy of the vCPUs: other, batch, idle or fifo, as in other:5 or fifo:10; empty is plimsoll's own"`
	Sharing     string             `name:"core_scheduling" doc:"what may run beside the guest on the other thread of a core: anything, nothing, or the guest itself" choices:"default,one-thread-per-core,one-guest-per-core"`
	Network     bool               `name:"network" doc:"network between the guests of the study, through plimsoll's virtual switch"`
	NIC         string             `name:"nic" doc:"network adapter, with network" choices:"virtio-net,vmxnet3,e1000e"`
	Parameters  string             `name:"parameters" doc:"additional kernel command-line parameters"`
	Kernel      string             `name:"kernel" doc:"kernel image; empty is the one fetched by plimsoll guest kernel"`
	Modules     string             `name:"modules" doc:"module folder of that kernel"`
	Accelerator string             `name:"accelerator" doc:"accelerator; auto boots a guest to test KVM, and falls back to TCG" choices:"auto,kvm,tcg"`
	VirtualTime int                `name:"virtual_time" doc:"QEMU icount shift: an instruction takes 2^N ns of virtual time, for repeatable results; one vCPU only; 0 is real time" min:"0" max:"10"`
	Boot        parameter.Duration `name:"boot" doc:"boot timeout"`
}

// Unset is the level of an unused setting.
const Unset = "none"

// Scratch is the mount point of the data of workloads.
const Scratch = "/scratch"

// Shape returns the VM that the settings describe.
func (g Guest) Shape(name string) (hardware.Shape, error) {
	shape := hardware.Shape{Name: name, CPU: hardware.CPU{Count: g.VCPUs, Model: g.Model}, Memory: hardware.Memory{Size: int64(g.Memory)}, Parameters: strings.Fields(g.Parameters)}
	if err := layout.Apply(&shape.CPU, g.Topology); err != nil {
		return shape, err
	}
	if g.VirtualTime > 0 {
		shape.VirtualTime = &hardware.VirtualTime{Shift: g.VirtualTime}
	}
	shape.Memory.HugePage = HugePages[g.HugePages]
	every, err := g.Checkpoints()
	shape.Memory.Shared = every > 0
	if err := errors.Join(err, g.checkProtection(), g.checkRoute(), g.checkBacking(), g.checkFabric(), g.checkSharing(), g.fair(), g.nodes(&shape)); err != nil {
		return shape, err
	}
	if shape.Pin, err = g.Pins(); err != nil {
		return shape, err
	}
	shape.Persistent, err = g.persistent()
	return shape, err
}

// HugePages are the sizes of the host's huge pages in bytes, by setting.
var HugePages = map[string]int64{"": 0, Unset: 0, "2MiB": 2 << 20, "1GiB": 1 << 30}

// nodes adds the virtual NUMA nodes, and the host nodes of their memory.
func (g Guest) nodes(shape *hardware.Shape) error {
	hosts, err := g.HostNodeList()
	if err != nil || g.Nodes < 2 && len(hosts) == 0 {
		return err
	}
	if g.VCPUs%g.Nodes != 0 || int64(g.Memory)%(int64(g.Nodes)<<20) != 0 {
		return fmt.Errorf("nodes: %d vCPUs and %s do not divide among %d nodes", g.VCPUs, g.Memory, g.Nodes)
	}
	each := g.VCPUs / g.Nodes
	for n := range g.Nodes {
		shape.NUMA = append(shape.NUMA, hardware.Node{CPUs: fmt.Sprintf("%d-%d", n*each, n*each+each-1), Memory: int64(g.Memory) / int64(g.Nodes), Host: hosts})
	}
	return nil
}

// Networked is the error of a VM without a network.
func (g Guest) Networked() error {
	if !g.Network {
		return errors.New("the guest has no network: set network: true for platform guest")
	}
	return nil
}

// Storage for workloads.
const (
	OnDisk = "disk" // the disk, on its controller
	OnPmem = "pmem" // the NVDIMM as a block device, through the page cache
	OnDAX  = "dax"  // the NVDIMM, with files mapped to its memory
)

const leastPmem = 32 << 20

// persistent returns the NVDIMM.
func (g Guest) persistent() ([]hardware.Persistent, error) {
	if g.Pmem == 0 {
		if g.Storage == OnPmem || g.Storage == OnDAX {
			return nil, fmt.Errorf("storage: %s needs an NVDIMM: set its size, as in pmem: 1GiB", g.Storage)
		}
		return nil, nil
	}
	if g.Pmem < leastPmem {
		return nil, fmt.Errorf("pmem: %s is too small for a file system: use 32MiB or more", g.Pmem)
	}
	return []hardware.Persistent{{Name: "pmem", Size: int64(g.Pmem)}}, nil
}

const (
	// DataDisk is the name of the disk that workloads write to, and its serial number.
	DataDisk = "data"
	// DataImage is the file of that disk, in the VM's folder.
	DataImage = "data.img"
	// DiskSocket is the socket of a server of that disk, in the VM's folder.
	DiskSocket = "disk.sock"
)

// What the disk is.
const (
	AutoBacking  = "auto"
	FileBacking  = "file"
	ImageBacking = "image"
)

// checkBacking refuses settings of files for a disk that is an image.
func (g Guest) checkBacking() error {
	if g.Backing != ImageBacking {
		return nil
	}
	if r, err := ParseRoute(g.IOFilter); err == nil && r.Server != NoServer {
		return fmt.Errorf("io_filter %s: its server serves files, and the disk is an image of the Ceph cluster: set backing: file, or io_filter: none", r)
	}
	if g.AIO != "threads" {
		return fmt.Errorf("aio %s: it is for files, and the disk is an image of the Ceph cluster: set backing: file, or aio: threads", g.AIO)
	}
	return nil
}

// ImageDisk returns the disk that workloads write to as an image.
func (g Guest) ImageDisk(image hardware.Image) hardware.Disk {
	d := g.Disk("")
	d.Backing, d.Path, d.Socket, d.AIO, d.Image = hardware.BackingImage, "", "", "", image
	return d
}

// Disk returns the disk that workloads write to, with its file in a folder.
func (g Guest) Disk(folder string) hardware.Disk {
	d := hardware.Disk{
		Name: DataDisk, Size: int64(g.DiskSize), Controller: hardware.Controller(g.Controller), Backing: hardware.BackingFile, Path: filepath.Join(folder, DataImage),
		Cache: g.Cache, AIO: g.AIO, IOThread: g.IOThread, Queues: g.Queues,
	}
	if r, err := ParseRoute(g.IOFilter); err == nil && r.Server != NoServer {
		d.Backing, d.Path, d.AIO, d.Socket = hardware.BackingNBD, "", "", filepath.Join(folder, DiskSocket)
	}
	return d
}
