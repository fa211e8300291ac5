package hardware

import (
	"encoding/xml"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// domain is a shape as a libvirt domain, in the order of its documents.
type domain struct {
	XMLName       xml.Name       `xml:"domain"`
	Type          string         `xml:"type,attr"`
	Name          string         `xml:"name"`
	Title         string         `xml:"title"`
	Memory        quantity       `xml:"memory"`
	VCPU          vcpu           `xml:"vcpu"`
	IOThreads     int            `xml:"iothreads,omitempty"`
	System        system         `xml:"os"`
	Features      features       `xml:"features"`
	CPU           processor      `xml:"cpu"`
	Clock         clock          `xml:"clock"`
	AtPowerOff    string         `xml:"on_poweroff"`
	AtReboot      string         `xml:"on_reboot"`
	AtCrash       string         `xml:"on_crash"`
	Disks         []domainDisk   `xml:"devices>disk"`
	Controllers   []controller   `xml:"devices>controller"`
	Serial        domainSerial   `xml:"devices>serial"`
	Channel       domainChannel  `xml:"devices>channel"`
	MemoryBalloon attributeModel `xml:"devices>memballoon"`
}

type quantity struct {
	Unit  string `xml:"unit,attr"`
	Value int64  `xml:",chardata"`
}

type vcpu struct {
	Placement string `xml:"placement,attr"`
	Count     int    `xml:",chardata"`
}

type system struct {
	Type struct {
		Arch    string `xml:"arch,attr"`
		Machine string `xml:"machine,attr"`
		Value   string `xml:",chardata"`
	} `xml:"type"`
	Kernel      string `xml:"kernel"`
	Initrd      string `xml:"initrd"`
	CommandLine string `xml:"cmdline"`
}

type features struct {
	ACPI struct{}  `xml:"acpi"`
	APIC struct{}  `xml:"apic"`
	TCG  *quantity `xml:"tcg>tb-cache"`
}

type clock struct {
	Offset string `xml:"offset,attr"`
}

type attributeModel struct {
	Model string `xml:"model,attr"`
}

type domainSerial struct {
	Type   string `xml:"type,attr"`
	Source struct {
		Path   string `xml:"path,attr"`
		Append string `xml:"append,attr"`
	} `xml:"source"`
}

type domainChannel struct {
	Type   string `xml:"type,attr"`
	Target struct {
		Type string `xml:"type,attr"`
		Name string `xml:"name,attr"`
	} `xml:"target"`
}

// Domain writes a shape as a domain of libvirt, the counterpart of Args. Parts that libvirt
// cannot express are refused. The console is written to ConsoleFile.
func (s Shape) Domain(w Wiring) (string, error) {
	w.HostCPUs = max(w.HostCPUs, s.CPU.Count) // libvirt's QEMU has one thread per vCPU
	if err := s.Check(w); err != nil {
		return "", err
	}
	s, err := s.Arrange(w.Host)
	if err == nil {
		err = s.expressible(w)
	}
	if err != nil {
		return "", fmt.Errorf("guest %s through libvirt: %w: use platform guest", s.Name, err)
	}
	d := domain{
		Type: "kvm", Name: s.Name, Title: "plimsoll: a guest of a study, which ends with it",
		Memory: quantity{"KiB", s.Memory.Size >> 10}, VCPU: vcpu{"static", s.CPU.Count},
		CPU: s.processor(w), Clock: clock{"utc"}, AtPowerOff: "destroy", AtReboot: "destroy", AtCrash: "destroy",
		Controllers: []controller{{Type: "usb", Model: "none"}}, MemoryBalloon: attributeModel{"none"},
	}
	if w.Accelerator == TCG {
		d.Type, d.Features.TCG = "qemu", &quantity{"MiB", 32}
	}
	t := &d.System.Type
	t.Arch, t.Machine, t.Value = "x86_64", "q35", "hvm"
	d.System.Kernel, d.System.Initrd, d.System.CommandLine = w.Kernel, w.Initramfs, s.commandLine(w)
	d.attach(s, w)
	d.Serial.Type, d.Serial.Source.Path, d.Serial.Source.Append = "file", ConsoleFile(w.Dir), "off"
	d.Channel.Type, d.Channel.Target.Type, d.Channel.Target.Name = "unix", "virtio", Port
	text, err := xml.MarshalIndent(d, "", "  ")
	return string(text) + "\n", err
}

// expressible refuses the parts of a shape that are not written for libvirt.
func (s Shape) expressible(w Wiring) error {
	switch {
	case w.Incoming:
		return errors.New("an incoming migration is libvirt's own to start")
	case s.VirtualTime != nil:
		return errors.New("libvirt has no virtual time")
	case len(s.Persistent) > 0 || len(s.NICs) > 0 || len(s.Pin) > 0 || s.Memory.HugePage != 0 || s.Memory.Shared:
		return errors.New("NVDIMMs, network cards, CPU affinity and huge pages are not supported")
	case slices.ContainsFunc(s.NUMA, func(n Node) bool { return len(n.Host) > 0 }):
		return errors.New("host NUMA nodes are not supported")
	}
	for _, d := range s.Disks {
		if d.Controller == NVMe || d.Backing != BackingFile {
			return fmt.Errorf("disk %s: a file on virtio-blk or virtio-scsi is supported", d.Name)
		}
	}
	return nil
}

type processor struct {
	Mode  string `xml:"mode,attr"`
	Match string `xml:"match,attr,omitempty"`
	Check string `xml:"check,attr"`
	Model *struct {
		Fallback string `xml:"fallback,attr"`
		Name     string `xml:",chardata"`
	} `xml:"model"`
	Topology struct {
		Sockets int `xml:"sockets,attr"`
		Dies    int `xml:"dies,attr"`
		Cores   int `xml:"cores,attr"`
		Threads int `xml:"threads,attr"`
	} `xml:"topology"`
	Cache    *processorCache    `xml:"cache"`
	Features []processorFeature `xml:"feature"`
	NUMA     *cells             `xml:"numa"`
}

type processorCache struct {
	Level int    `xml:"level,attr,omitempty"`
	Mode  string `xml:"mode,attr"`
}

type processorFeature struct {
	Policy string `xml:"policy,attr"`
	Name   string `xml:"name,attr"`
}

// An empty element must be absent, which package xml does for a pointer, but not for a path
// such as a>b.
type cells struct {
	Cells []cell `xml:"cell"`
}

type cell struct {
	ID     int    `xml:"id,attr"`
	CPUs   string `xml:"cpus,attr,omitempty"`
	Memory int64  `xml:"memory,attr"`
	Unit   string `xml:"unit,attr"`
}

// processor writes the processors with the NUMA nodes, which libvirt puts among them.
func (s Shape) processor(w Wiring) processor {
	p := processor{Mode: "custom", Match: "exact", Check: "none"}
	c := s.CPU
	p.Topology.Sockets, p.Topology.Dies, p.Topology.Cores, p.Topology.Threads = c.Sockets, c.Dies, c.Cores, c.Threads
	parts := strings.Split(s.model(w), ",")
	if parts[0] == "host" {
		p.Mode, p.Match = "host-passthrough", ""
	} else {
		p.Model = &struct {
			Fallback string `xml:"fallback,attr"`
			Name     string `xml:",chardata"`
		}{"forbid", parts[0]}
	}
	for _, f := range parts[1:] {
		p.feature(f)
	}
	if len(s.NUMA) > 0 {
		p.NUMA = &cells{}
	}
	for i, n := range s.NUMA {
		p.NUMA.Cells = append(p.NUMA.Cells, cell{ID: i, CPUs: n.CPUs, Memory: n.Memory >> 10, Unit: "KiB"})
	}
	return p
}

// feature parses a feature in QEMU's notation: name, +name, -name, name=on or name=off.
func (p *processor) feature(text string) {
	name, value, _ := strings.Cut(text, "=")
	off := value == "off" || strings.HasPrefix(name, "-")
	name = strings.TrimLeft(name, "+-")
	switch {
	case name == "l3-cache" && off:
		p.Cache = &processorCache{Mode: "disable"}
	case name == "l3-cache":
		p.Cache = &processorCache{Level: 3, Mode: "emulate"}
	case off:
		p.Features = append(p.Features, processorFeature{"disable", name})
	default:
		p.Features = append(p.Features, processorFeature{"require", name})
	}
	slices.SortStableFunc(p.Features, func(a, b processorFeature) int { return strings.Compare(a.Name, b.Name) })
}
