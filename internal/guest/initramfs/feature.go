package initramfs

import "slices"

// features are sets of modules by purpose. Dependencies are added; built-in modules are
// omitted.
var features = map[string][]string{
	"channel":         {"virtio_pci", "virtio_console"},
	"channel-microvm": {"virtio_mmio", "virtio_console"},
	"disks":           {"virtio_blk", "virtio_scsi", "sd_mod", "nvme"},
	"network":         {"virtio_net"},
	"netem":           {"sch_netem"},
	"packet":          {"af_packet"},
	"vsock":           {"vmw_vsock_virtio_transport"},
	"pmem":            {"nfit", "nd_btt", "nd_pmem", "dax_pmem", "device_dax"},
	"virtio-pmem":     {"nd_pmem", "virtio_pmem"},
	"memmap-pmem":     {"nd_pmem", "nd_e820"},
	"ext4":            {"ext4"},
	"xfs":             {"xfs"},
	"nvmeof-tcp":      {"nvmet", "nvmet_tcp", "nvme_fabrics", "nvme_tcp"},
	"nvmeof-rdma":     {"ib_uverbs", "rdma_rxe", "rdma_cm", "nvmet_rdma", "nvme_rdma"},
	// Drivers for other hypervisors: vSphere, Hyper-V, Xen.
	"vsphere": {"vmw_pvscsi", "nvme", "vmxnet3", "ata_piix", "sd_mod", "sr_mod"},
	"hyperv":  {"hv_storvsc", "hv_netvsc", "hv_utils", "sd_mod"},
	"xen":     {"xen_blkfront", "xen_netfront"},
}

// undeclared are dependencies that modules do not declare: without crc32_generic, soft-RoCE
// refuses to add a link. Kernels without the module do not need it.
var undeclared = map[string][]string{
	"rdma_rxe": {"crc32_generic"},
}

// Features returns the names of the known sets of modules, sorted.
func Features() []string {
	var names []string
	for name := range features {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
