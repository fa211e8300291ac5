package libvirt

import (
	"fmt"

	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/spec"
)

// Settings are the settings of the platform. In an existing domain only uri, boot and
// folder apply.
type Settings struct {
	URI        string `name:"uri" doc:"connection URI, such as qemu:///system; empty is LIBVIRT_DEFAULT_URI, or qemu:///system"`
	Domain     string `name:"domain" doc:"running domain with plimsoll's agent on a virtio channel named plimsoll; empty creates a transient domain"`
	Controller string `name:"controller" doc:"disk controller" choices:"virtio-blk,virtio-scsi"`
	spec.Guest `controller:"-" backing:"-" huge_pages:"-" host_nodes:"-" io_filter:"-" protection:"-" standby:"-" fabric:"-" pmem:"-" storage:"-" pin:"-" scheduler:"-" core_scheduling:"-" network:"-" nic:"-" virtual_time:"-" boot:"boot timeout, and timeout of the agent in a domain you provide"`
	Folder     string `name:"folder" doc:"folder for the files of workloads in a domain you provide"`
}

// limits returns the reason why libvirt cannot provide the settings.
func limits(g spec.Guest) error {
	if g.Controller != string(hardware.VirtioBlk) && g.Controller != string(hardware.VirtioSCSI) {
		return fmt.Errorf("unsupported controller %q: must be virtio-blk or virtio-scsi", g.Controller)
	}
	return nil
}
