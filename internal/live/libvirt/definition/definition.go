// Package definition reads and changes the virtual topology in the XML of a libvirt domain.
// All else in the XML stays unchanged, byte for byte.
package definition

import (
	"errors"
	"fmt"
	"strconv"

	"plimsoll/internal/cluster/topology"
)

// Domain is the topology of a domain's definition.
type Domain struct {
	topology.Present
	Memory int64 // bytes
	// Fixed is why the topology must not be changed; empty if it may.
	Fixed string

	text    string
	root    *element
	most    int   // vCPUs, including unplugged ones
	granule int64 // unit of a node's memory in bytes
}

const (
	mostVCPUs  = 1024
	mostMemory = 1 << 50
)

// units of memory; daemons write KiB.
var units = map[string]int64{"": 1 << 10, "k": 1 << 10, "KiB": 1 << 10, "b": 1, "bytes": 1, "M": 1 << 20, "MiB": 1 << 20, "G": 1 << 30, "GiB": 1 << 30, "T": 1 << 40, "TiB": 1 << 40}

// size is the amount of memory of an element, in bytes.
func size(e *element) (int64, bool) {
	unit, known := units[e.value("unit")]
	n, err := strconv.ParseInt(e.content(), 10, 64)
	return n * unit, known && err == nil && n >= 1 && n <= mostMemory/unit
}

// number is a number of processors; 0 if invalid.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > mostVCPUs {
		return 0
	}
	return n
}

// Parse reads the XML of a domain.
func Parse(text string) (*Domain, error) {
	root, err := readTree(text)
	if err == nil && (root.Name.Local != "domain" || root.Name.Space != "") {
		err = fmt.Errorf("it is a %q, not a domain", root.Name.Local)
	}
	if err != nil {
		return nil, fmt.Errorf("its XML: %w", err)
	}
	d := &Domain{text: text, root: root}
	vcpu, memory := root.find("vcpu"), root.find("memory")
	d.most = number(vcpu.content())
	if d.VCPUs = d.most; number(vcpu.value("current")) > 0 {
		d.VCPUs = min(d.VCPUs, number(vcpu.value("current")))
	}
	if d.VCPUs < 1 {
		return nil, fmt.Errorf("its XML: %.40q vCPUs", vcpu.content())
	}
	known := false
	if d.Memory, known = size(memory); !known {
		return nil, fmt.Errorf("its XML: %.40q %.10s of memory", memory.content(), memory.value("unit"))
	}
	kind := root.value("type")
	d.Cells = kind == "qemu" || kind == "kvm" || kind == "hvf"
	d.granule = d.pages()
	if d.granule > mib {
		d.MostNodes = int(max(1, d.Memory/d.granule))
	}
	d.measure()
	d.Fixed = d.fixed()
	return d, nil
}

// levels of a topology below the socket.
var levels = []string{"dies", "clusters", "cores", "threads"}

// measure reads sockets and nodes. For unequal nodes the size is the mean, and the topology is
// fixed.
func (d *Domain) measure() {
	if t := d.root.find("cpu", "topology"); t != nil {
		d.CoresPerSocket = 1
		for _, level := range levels {
			d.CoresPerSocket = min(d.CoresPerSocket*max(1, number(t.value(level))), d.most)
		}
	}
	if cells := d.root.find("cpu", "numa").all("cell"); len(cells) > 0 {
		d.CoresPerNode = max(1, d.most/len(cells))
	}
}

const (
	mib = 1 << 20
	gib = 1 << 30
)

// pages is the unit of a node's size: a MiB, or a huge page. If the size is the host's
// default, it is the largest that divides the memory.
func (d *Domain) pages() int64 {
	huge := d.root.find("memoryBacking", "hugepages")
	if huge == nil {
		return mib
	}
	list := huge.all("page")
	if len(list) == 0 {
		return min(gib, max(mib, d.Memory&-d.Memory))
	}
	largest := int64(mib)
	for _, p := range list {
		unit, known := units[p.value("unit")]
		n, err := strconv.ParseInt(p.value("size"), 10, 64)
		if known && err == nil && n >= 1 && n <= mostMemory/unit {
			largest = max(largest, n*unit)
		}
	}
	return largest
}

// cell is a node of a domain, as libvirt writes it.
type cell struct {
	cpus string
	kib  int64
}

// cells are the nodes of a number of vCPUs each, with equal parts of the memory.
func (d *Domain) cells(vcpus int) ([]cell, error) {
	n := int64(d.most / vcpus)
	whole, rest := d.Memory/d.granule, d.Memory%d.granule
	if whole < n {
		return nil, fmt.Errorf("its memory has %d pages of %d MiB for %d nodes", whole, d.granule/mib, n)
	}
	var list []cell
	for i := range n {
		share := whole / n * d.granule
		if i < whole%n {
			share += d.granule
		}
		if i == n-1 {
			share += rest
		}
		first := int(i) * vcpus
		c := cell{strconv.Itoa(first), share >> 10}
		if vcpus > 1 {
			c.cpus = fmt.Sprintf("%d-%d", first, first+vcpus-1)
		}
		list = append(list, c)
	}
	return list, nil
}

// With is the definition with another topology.
func (d *Domain) With(s topology.Setting) (string, error) {
	switch {
	case d.Fixed != "":
		return "", errors.New(d.Fixed)
	case s.VCPUs != d.VCPUs || s.CoresPerSocket < 0 || s.CoresPerNode < 0 || s.CoresPerSocket > 0 && s.VCPUs%s.CoresPerSocket != 0 || s.CoresPerNode > 0 && s.VCPUs%s.CoresPerNode != 0,
		s.HotAdd, s.ShowOnHotAdd, len(s.Advanced) > 0:
		return "", fmt.Errorf("the platform has no setting %q", s)
	}
	c := change{text: d.text}
	if err := c.topology(d, s); err != nil {
		return "", err
	}
	return c.apply(), nil
}
