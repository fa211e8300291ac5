package libvirt

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/cluster"
	"plimsoll/internal/live"
	"plimsoll/internal/live/libvirt/definition"
)

// shape is the part of a domain's XML that decides where it can run.
type shape struct {
	vcpus          int
	coresPerSocket int
	memory         int64 // bytes
	shares         int64 // CPU shares; 0: default
	emulated       bool  // runs without KVM
	locked         bool  // its memory is fully backed: locked, or huge pages
	networks       []int32
	stores         []int32
	tied           string // bound to its host by this; empty if it can move
	resident       bool   // while it is off, a file of its host has a part of its state
	direct         bool   // no disk is in the page cache of the host
	form           live.Shape
}

// domainXML is the part of a domain's XML that is read.
type domainXML struct {
	Type    string `xml:"type,attr"`
	Shares  int64  `xml:"cputune>shares"`
	Backing struct {
		Locked *struct{} `xml:"locked"`
		Huge   *struct{} `xml:"hugepages"`
	} `xml:"memoryBacking"`
	Disks []struct {
		Type   string `xml:"type,attr"`
		Driver struct {
			Cache string `xml:"cache,attr"`
		} `xml:"driver"`
		ReadOnly *struct{} `xml:"readonly"`
		Source   *struct {
			File string `xml:"file,attr"`
			Dev  string `xml:"dev,attr"`
			Dir  string `xml:"dir,attr"`
			Pool string `xml:"pool,attr"`
		} `xml:"source"`
	} `xml:"devices>disk"`
	Interfaces []struct {
		Type   string `xml:"type,attr"`
		Source struct {
			Bridge  string `xml:"bridge,attr"`
			Network string `xml:"network,attr"`
			Dev     string `xml:"dev,attr"`
		} `xml:"source"`
	} `xml:"devices>interface"`
	Passed  []struct{} `xml:"devices>hostdev"`
	Folders []struct{} `xml:"devices>filesystem"`
	NVRAM   string     `xml:"os>nvram"`
	TPM     struct {
		Backend struct {
			Type string `xml:"type,attr"`
		} `xml:"backend"`
	} `xml:"devices>tpm"`
}

// shapeOf parses the XML of a domain in a cluster with named networks and datastores.
func (f *file) shapeOf(text string) (shape, error) {
	is, err := definition.Parse(text)
	if err != nil {
		return shape{}, err
	}
	var d domainXML
	if err := xml.Unmarshal([]byte(text), &d); err != nil {
		return shape{}, fmt.Errorf("its XML: %w", err)
	}
	s := shape{
		vcpus: is.VCPUs, coresPerSocket: min(is.CoresPerSocket, is.VCPUs), memory: is.Memory, form: live.Shape{Present: is.Present, Fixed: is.Fixed},
		shares: max(0, d.Shares), emulated: d.Type == "qemu", locked: d.Backing.Locked != nil || d.Backing.Huge != nil,
	}
	if is.Cells && s.coresPerSocket == 0 {
		s.coresPerSocket = 1 // QEMU's default
	}
	f.attach(&s, &d)
	return s, nil
}

// attach finds the requirements of a domain's devices.
func (f *file) attach(s *shape, d *domainXML) {
	switch {
	case len(d.Passed) > 0:
		s.tied = "a device of the host"
	case len(d.Folders) > 0:
		s.tied = "a folder of the host"
	case d.TPM.Backend.Type == "passthrough":
		s.tied = "the TPM of the host"
	}
	variables := strings.TrimSpace(d.NVRAM)
	s.resident = d.TPM.Backend.Type == "emulator" || variables != "" && f.store(variables) < 0
	s.direct = true
	for _, disk := range d.Disks {
		if disk.Source == nil || disk.Type == "network" {
			continue
		}
		at := strings.Join([]string{disk.Source.File, disk.Source.Dev, disk.Source.Dir, disk.Source.Pool}, "")
		if at == "" {
			continue // an empty drive
		}
		s.direct = s.direct && (disk.ReadOnly != nil || disk.Driver.Cache == "none" || disk.Driver.Cache == "directsync")
		if n := f.store(at); n >= 0 {
			s.stores = append(s.stores, int32(n))
		} else {
			s.tied = "the disk " + at + ", which is in no datastore of the list"
		}
	}
	for _, i := range d.Interfaces {
		name := i.Source.Bridge + i.Source.Network
		switch i.Type {
		case "direct":
			name = i.Source.Dev
		case "hostdev":
			s.tied = "a network device of the host"
		}
		if n := slices.Index(f.networks, name); n >= 0 {
			s.networks = append(s.networks, int32(n))
		}
	}
	for _, list := range []*[]int32{&s.networks, &s.stores} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
}

// store is the datastore of a disk: a pool by name, or a folder; -1 for none.
func (f *file) store(at string) int {
	return slices.IndexFunc(f.datastores, func(name string) bool {
		folder := strings.TrimSuffix(name, "/")
		return at == name || at == folder || strings.HasPrefix(name, "/") && strings.HasPrefix(at, folder+"/")
	})
}

// vm is a VM of this shape.
func (s *shape) vm() cluster.VM {
	cpu, memory := cluster.VMShares(cluster.ShareNormal, s.vcpus, s.memory)
	if s.shares > 0 {
		cpu = s.shares
	}
	v := cluster.VM{
		Host: cluster.Nowhere, VCPUs: s.vcpus, CoresPerSocket: s.coresPerSocket, Memory: s.memory,
		CPU: cluster.Allocation{Limit: cluster.Unlimited, Shares: cpu}, Mem: cluster.Allocation{Limit: cluster.Unlimited, Shares: memory},
		Networks: s.networks, Datastores: s.stores, Pinned: s.tied != "", Tied: s.tied != "",
	}
	if s.locked {
		v.Mem.Reservation = s.memory
	}
	return v
}
