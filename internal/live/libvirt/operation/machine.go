package operation

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"slices"

	"plimsoll/internal/libvirt"
	"plimsoll/internal/workload/operations/management"
)

// space is the XML namespace of our metadata.
const space = "https://plimsoll.invalid/operations"

// emulated is the type of domains that QEMU emulates.
const emulated = "qemu"

// machine is the virtual hardware supported by all hosts.
type machine struct {
	Type, Arch string
	folder     string // of disks, on all hosts
}

// common is supported by all hosts: KVM, or QEMU's emulation.
func (c *client) common(ctx context.Context) (m machine, err error) {
	all := make([]libvirt.Abilities, len(c.hosts))
	for i, h := range c.hosts {
		if all[i], err = (libvirt.Host{Conn: h.conn()}).Abilities(ctx); err != nil {
			return m, fmt.Errorf("host %s: %w", h.Name, err)
		}
	}
	m.Arch = all[0].Arch
	for _, kind := range []string{"kvm", emulated} {
		if !slices.ContainsFunc(all, func(a libvirt.Abilities) bool { return a.Arch != m.Arch || !slices.Contains(a.Types, kind) }) {
			m.Type = kind
			return m, nil
		}
	}
	return m, errors.New("the hosts have no domain type in common: their architectures differ, or they have neither KVM nor QEMU")
}

// domainXML is the part of a domain's XML that is read and written.
type domainXML struct {
	XMLName     xml.Name `xml:"domain"`
	Type        string   `xml:"type,attr"`
	Name        string   `xml:"name"`
	Description string   `xml:"description"`
	Metadata    struct {
		Shares int `xml:"https://plimsoll.invalid/operations shares,omitempty"`
	} `xml:"metadata"`
	Memory struct {
		Unit string `xml:"unit,attr"`
		Size int64  `xml:",chardata"`
	} `xml:"memory"`
	VCPU int `xml:"vcpu"`
	OS   struct {
		Type struct {
			Arch string `xml:"arch,attr"`
			Kind string `xml:",chardata"`
		} `xml:"type"`
	} `xml:"os"`
	Devices struct {
		Disks      []disk `xml:"disk"`
		Controller struct {
			Type  string `xml:"type,attr"`
			Model string `xml:"model,attr"`
		} `xml:"controller"`
		Balloon struct {
			Model string `xml:"model,attr"`
		} `xml:"memballoon"`
	} `xml:"devices"`
}

// disk is a disk of a domain.
type disk struct {
	Type   string `xml:"type,attr"`
	Device string `xml:"device,attr"`
	Driver struct {
		Name  string `xml:"name,attr"`
		Type  string `xml:"type,attr"`
		Cache string `xml:"cache,attr"`
	} `xml:"driver"`
	Source struct {
		File string `xml:"file,attr"`
	} `xml:"source"`
	Target struct {
		Name string `xml:"dev,attr"`
		Bus  string `xml:"bus,attr"`
	} `xml:"target"`
}

// domain is a domain without devices that require something of a host.
func (m machine) domain(o management.Order) (d domainXML) {
	d.Type, d.Name, d.Description, d.VCPU = m.Type, o.Name, o.Mark, max(1, o.Size.CPUs)
	d.Memory.Unit, d.Memory.Size = "b", o.Size.Memory
	d.OS.Type.Arch, d.OS.Type.Kind = m.Arch, "hvm"
	d.Devices.Controller.Type, d.Devices.Controller.Model, d.Devices.Balloon.Model = "usb", "none", "none"
	return d
}

// disk adds a disk that bypasses the cache of the host: two hosts use it during a migration.
func (d *domainXML) disk(file string) {
	one := disk{Type: "file", Device: "disk"}
	one.Driver.Name, one.Driver.Type, one.Driver.Cache = "qemu", "qcow2", "none"
	one.Source.File, one.Target.Name, one.Target.Bus = file, "vda", "virtio"
	d.Devices.Disks = []disk{one}
}

// file is that of the first disk; empty without one.
func (d *domainXML) file() string {
	if len(d.Devices.Disks) == 0 {
		return ""
	}
	return d.Devices.Disks[0].Source.File
}

func (d *domainXML) text() (string, error) {
	text, err := xml.Marshal(d)
	if err != nil {
		return "", fmt.Errorf("describe domain %s: %w", d.Name, err)
	}
	return string(text), nil
}

// bytes is the memory of a domain, which a daemon reports in KiB.
func (d *domainXML) bytes() int64 { return d.Memory.Size << 10 }

func parse(text string) (d domainXML, err error) {
	if err := xml.Unmarshal([]byte(text), &d); err != nil {
		return d, fmt.Errorf("the description of a domain: %w", err)
	}
	if unit := d.Memory.Unit; unit != "KiB" && unit != "" || d.Memory.Size < 0 || d.Memory.Size > 1<<40 {
		return d, fmt.Errorf("the description of domain %s: memory of %d %q", d.Name, d.Memory.Size, unit)
	}
	return d, nil
}
