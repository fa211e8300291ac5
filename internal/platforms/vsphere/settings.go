package vsphere

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"plimsoll/internal/connection"
	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/layout"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/live"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

const machineName = "vsphere"

// Settings are the settings of the platform.
type Settings struct {
	URL        string   `name:"url" doc:"cluster of a vCenter, as with --live: vsphere://user@vcenter/datacenter/cluster?password=file:PATH"`
	Datastore  string   `name:"datastore" doc:"datastore of the VMs; empty takes the cluster's only one"`
	Network    string   `name:"network" doc:"network of the VMs, from which they reach this machine; empty takes the cluster's only one"`
	Folder     string   `name:"folder" doc:"folder of the VMs in the inventory; empty is the datacenter's"`
	Pool       string   `name:"pool" doc:"resource pool of the VMs; empty is the cluster's"`
	Host       string   `name:"host" doc:"host on which the VMs are made; empty lets the vCenter choose"`
	Hardware   string   `name:"hardware" doc:"version of the virtual hardware, such as vmx-20; empty is vmx-14"`
	DRS        bool     `name:"drs" doc:"whether DRS may place and move the VMs; false needs the privilege Host.Inventory.EditCluster"`
	Listen     string   `name:"listen" doc:"listen address for the agents in the VMs; port 0 is any"`
	Lab        string   `name:"lab" doc:"IP address of this machine as the VMs see it; empty is the one from which it reaches the vCenter"`
	Addresses  []string `name:"addresses" doc:"addresses of the VMs, one each, as 192.0.2.10/24; empty takes DHCP"`
	Gateway    string   `name:"gateway" doc:"gateway of VMs with such an address; empty is none"`
	Controller string   `name:"controller" doc:"controller of the data disk" choices:"pvscsi,nvme,sata"`
	NIC        string   `name:"nic" doc:"network adapter" choices:"vmxnet3,e1000e"`
	spec.Claims
	spec.Guest `controller:"-" backing:"-" nic:"-" model:"-" huge_pages:"-" host_nodes:"-" cache:"-" aio:"-" iothread:"-" queues:"-" io_filter:"-" protection:"-" standby:"-" fabric:"-" pmem:"-" storage:"-" pin:"-" scheduler:"-" core_scheduling:"-" network:"-" parameters:"-" accelerator:"-" virtual_time:"-" topology:"vCPU topology: spread (one socket per vCPU), or SOCKETSxCORES" boot:"timeout of the upload of a VM's files, and of a boot"`
}

func defaults() Settings {
	return Settings{
		DRS: true, Listen: "0.0.0.0:0", Controller: string(hardware.PVSCSI), NIC: string(hardware.VMXNet3),
		Claims: spec.Claims{LatencySensitivity: spec.NormalLatency},
		Guest:  spec.Guest{VCPUs: 1, Topology: string(hardware.Spread), Nodes: 1, Memory: 512 << 20, DiskSize: 4 << 30, Boot: parameter.Duration(5 * time.Minute)},
	}.settled()
}

// settled has the settings of a guest that are hidden, because their choices differ here.
func (s Settings) settled() Settings {
	s.Guest.Controller, s.Guest.NIC, s.Guest.Network = s.Controller, s.NIC, true
	return s
}

// Kind is the platform as the catalog lists it.
func Kind() platform.Kind {
	return platform.Kind{
		Operations: []string{platform.Migrate, platform.Deploy, platform.Snapshot},
		Needs:      "vCenter",
		Name:       machineName,
		Doc:        "VMs on a cluster of a vCenter, deployed from an appliance with plimsoll's agent",
		Defaults:   defaults(),
		Fleeting:   func(parameter.Settings) bool { return true },
		Sweep:      sweep,
		Open: func(ctx context.Context, settings parameter.Settings, _ uint64) (platform.Platform, error) {
			s := defaults()
			if err := parameter.Decode(&s, settings); err != nil {
				return nil, err
			}
			return open(ctx, s.settled())
		},
	}
}

// check finds mistakes in the settings before anything is reached.
func (s Settings) check() (live.Address, error) {
	if s.URL == "" {
		return live.Address{}, errors.New("url is missing: vsphere://user@vcenter/datacenter/cluster?password=file:PATH")
	}
	at, err := live.ParseAddress(s.URL)
	if err != nil {
		return at, err
	}
	if at.Scheme != machineName {
		return at, fmt.Errorf("url %s: must begin with vsphere://", at)
	}
	for _, a := range s.Addresses {
		if _, err := netip.ParsePrefix(a); err != nil {
			return at, fmt.Errorf("addresses: %q: must be an address with the length of its network, as 192.0.2.10/24", a)
		}
	}
	if s.Gateway != "" {
		if _, err := netip.ParseAddr(s.Gateway); err != nil || len(s.Addresses) == 0 {
			return at, fmt.Errorf("gateway %q: must be an IP address, beside addresses", s.Gateway)
		}
	}
	if n, is := strings.CutPrefix(s.Hardware, "vmx-"); s.Hardware != "" && (!is || len(n) != 2 || n < "14" || strings.Trim(n, "0123456789") != "") {
		return at, fmt.Errorf("hardware %q: must be vmx-14 or newer, as vmx-20", s.Hardware)
	}
	if s.Lab != "" {
		if _, err := netip.ParseAddr(s.Lab); err != nil {
			return at, fmt.Errorf("lab %q: must be an IP address", s.Lab)
		}
	}
	if _, err := s.Guest.Shape("guest"); err != nil {
		return at, err
	}
	return at, errors.Join(limits(s.Guest), claimable(s.Claims, s.Guest))
}

// limits returns the reason why vSphere cannot provide the settings.
func limits(g spec.Guest) error {
	shape, err := g.Shape("guest")
	if err != nil {
		return err
	}
	l := layout.Of(shape.CPU)
	switch {
	case g.Topology == string(hardware.Auto):
		return errors.New("topology auto: it follows from the host that plimsoll runs on: set SOCKETSxCORES")
	case l.Dies > 1 || l.Threads > 1:
		return fmt.Errorf("topology %s: VMs have neither dies nor threads here: set SOCKETSxCORES", g.Topology)
	case g.Parameters != "":
		return errors.New("parameters: the kernel's command line is the same for all VMs of an appliance")
	case g.Queues != 0:
		return errors.New("queues: their number is not a setting of vSphere")
	case g.Memory%(4<<20) != 0:
		return fmt.Errorf("memory %s: must be a multiple of 4MiB", g.Memory)
	case g.Controller != string(hardware.PVSCSI) && g.Controller != string(hardware.NVMe) && g.Controller != string(hardware.SATA):
		return fmt.Errorf("unsupported controller %q: must be pvscsi, nvme or sata", g.Controller)
	case g.NIC != string(hardware.VMXNet3) && g.NIC != string(hardware.E1000e):
		return fmt.Errorf("unsupported network adapter %q: must be vmxnet3 or e1000e", g.NIC)
	}
	return nil
}

// claimable returns the reason why a VM cannot have such claims.
func claimable(c spec.Claims, g spec.Guest) error {
	switch {
	case c.MemoryReservation > g.Memory:
		return fmt.Errorf("memory_reservation %s: must be at most the memory of %s", c.MemoryReservation, g.Memory)
	case c.MemoryReservation%(1<<20) != 0:
		return fmt.Errorf("memory_reservation %s: must be whole MiB", c.MemoryReservation)
	case c.LatencySensitivity == spec.HighLatency && c.MemoryReservation != g.Memory:
		return fmt.Errorf("latency_sensitivity high: all memory must be reserved: set memory_reservation to %s", g.Memory)
	}
	return nil
}

// ownAddress is the address from which this machine reaches another. Nothing is sent.
func ownAddress(host string) (string, error) {
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(strings.Trim(host, "[]"), "443")
	}
	conn, err := net.Dial("udp", host)
	if err != nil {
		return "", fmt.Errorf("find the address from which this machine reaches the vCenter of url: %w; correct url, or set lab", connection.Explain(err))
	}
	defer conn.Close() //nolint:errcheck // it carried nothing
	return conn.LocalAddr().(*net.UDPAddr).IP.String(), nil
}
