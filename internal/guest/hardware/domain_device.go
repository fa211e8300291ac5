package hardware

import (
	"cmp"
	"fmt"
	"path/filepath"
)

// ConsoleFile is the console output of a guest started by libvirt, in its folder.
func ConsoleFile(dir string) string { return filepath.Join(dir, "console.log") }

type domainDisk struct {
	Type    string        `xml:"type,attr"`
	Device  string        `xml:"device,attr"`
	Driver  driver        `xml:"driver"`
	Source  source        `xml:"source"`
	Target  target        `xml:"target"`
	Locked  *struct{}     `xml:"readonly"`
	Serial  string        `xml:"serial"`
	Address *driveAddress `xml:"address"`
}

type driver struct {
	Name     string `xml:"name,attr,omitempty"`
	Type     string `xml:"type,attr,omitempty"`
	Cache    string `xml:"cache,attr,omitempty"`
	IO       string `xml:"io,attr,omitempty"`
	IOThread int    `xml:"iothread,attr,omitempty"` // from 1 on
	Queues   int    `xml:"queues,attr,omitempty"`
}

type source struct {
	File string `xml:"file,attr"`
}

type target struct {
	Device string `xml:"dev,attr"`
	Bus    string `xml:"bus,attr"`
}

type driveAddress struct {
	Type       string `xml:"type,attr"`
	Controller int    `xml:"controller,attr"`
}

type controller struct {
	Type   string  `xml:"type,attr"`
	Index  int     `xml:"index,attr"`
	Model  string  `xml:"model,attr"`
	Driver *driver `xml:"driver"`
}

// Targets are the names by which libvirt knows the disks of a domain, such as vda, in their order.
func Targets(disks []Disk) (names []string) {
	scsi, blk := 0, 0
	for _, k := range disks {
		switch k.Controller {
		case VirtioSCSI:
			names = append(names, letters("sd", scsi))
			scsi++
		default:
			names = append(names, letters("vd", blk))
			blk++
		}
	}
	return names
}

// attach adds disks.
func (d *domain) attach(s Shape, w Wiring) {
	scsi := 0
	names := Targets(s.Disks)
	for i, k := range s.Disks {
		thread := 0
		if k.IOThread {
			d.IOThreads++
			thread = d.IOThreads
		}
		x := k.domain(w)
		switch k.Controller {
		case VirtioSCSI: // each disk has a controller, as with plain QEMU
			d.Controllers = append(d.Controllers, controller{"scsi", scsi, "virtio-scsi", &driver{Queues: k.Queues, IOThread: thread}})
			x.Target, x.Address = target{names[i], "scsi"}, &driveAddress{"drive", scsi}
			scsi++
		default:
			x.Driver.Queues, x.Driver.IOThread = k.Queues, thread
			x.Target = target{names[i], "virtio"}
		}
		d.Disks = append(d.Disks, x)
	}
}

func (d Disk) domain(w Wiring) domainDisk {
	x := domainDisk{
		Type: "file", Device: "disk", Source: source{d.File(w)}, Serial: d.Name,
		Driver: driver{Name: "qemu", Type: "raw", Cache: cmp.Or(d.Cache, "none"), IO: cmp.Or(d.AIO, "threads")},
	}
	if d.ReadOnly {
		x.Locked = &struct{}{}
	}
	return x
}

// letters are the device name of a disk by number: vda to vdz, then vdaa.
func letters(prefix string, n int) string {
	const alphabet = 26
	if n < alphabet {
		return fmt.Sprintf("%s%c", prefix, 'a'+n)
	}
	return fmt.Sprintf("%s%c", letters(prefix, n/alphabet-1), 'a'+n%alphabet)
}
