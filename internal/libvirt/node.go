package libvirt

import (
	"context"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
)

// Version is a release, as libvirt writes it in one number.
type Version uint64

// String is the release with dots.
func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v/1e6, v/1e3%1e3, v%1e3) }

// LibraryVersion is the release of libvirt that the daemon is.
func (c *Conn) LibraryVersion(ctx context.Context) (Version, error) {
	return c.version(ctx, procLibVersion)
}

// HypervisorVersion is the release of what runs the domains, such as QEMU.
func (c *Conn) HypervisorVersion(ctx context.Context) (Version, error) {
	return c.version(ctx, procVersion)
}

func (c *Conn) version(ctx context.Context, procedure int32) (Version, error) {
	body, err := c.call(ctx, procedure, nil)
	if err != nil {
		return 0, fmt.Errorf("query the versions of libvirt: %w", err)
	}
	d := decoder{b: body}
	return Version(d.uint64()), d.end()
}

// Host is a connection as one manages a host by it: what it is, what happens on it, what its
// domains load it with, and migrations to another.
type Host struct{ Conn *Conn }

// Node is the host of a daemon.
type Node struct {
	Hostname string
	Memory   int64 // bytes
	MHz      int   // of a core; 0 if the host does not say
	Cells    int   // NUMA nodes
	Sockets  int   // of a cell
	Cores    int   // of a socket
	Threads  int   // of a core
}

// modelLength is the number of characters of the CPU's model, a word each.
const modelLength = 32

// Node describes the host.
func (h Host) Node(ctx context.Context) (n Node, err error) {
	body, err := h.Conn.call(ctx, procNodeInfo, nil)
	if err != nil {
		return n, fmt.Errorf("query the host: %w", err)
	}
	if n, err = decodeNode(body); err != nil {
		return n, fmt.Errorf("query the host: %w", err)
	}
	if body, err = h.Conn.call(ctx, procHostname, nil); err != nil {
		return n, fmt.Errorf("query the name of the host: %w", err)
	}
	d := decoder{b: body}
	n.Hostname = d.string()
	return n, d.end()
}

func decodeNode(body []byte) (n Node, err error) {
	d := decoder{b: body}
	d.take(4 * modelLength)
	kib := d.uint64()
	d.int32() // processors, which the remaining fields give
	n = Node{Memory: int64(kib << 10), MHz: int(d.int32()), Cells: int(d.int32()), Sockets: int(d.int32()), Cores: int(d.int32()), Threads: int(d.int32())}
	if kib > 1<<43 {
		d.fail("%d KiB of memory", kib)
	}
	for _, number := range []int{n.MHz, n.Cells, n.Sockets, n.Cores, n.Threads} {
		if number < 0 || number > 1<<20 {
			d.fail("a host with %+v", n)
		}
	}
	return n, d.end()
}

// Cell is a NUMA node of a host, from its capabilities.
type Cell struct {
	Memory int64 // bytes
	CPUs   []CellCPU
}

// CellCPU is a processor of a cell: where it is.
type CellCPU struct {
	ID       int    `xml:"id,attr"`
	Socket   int    `xml:"socket_id,attr"`
	Core     int    `xml:"core_id,attr"`
	Siblings string `xml:"siblings,attr"` // the threads of its core, as a list of processors
}

// Capabilities are what a daemon says of its host, besides Node.
type Capabilities struct {
	UUID  string // of the host
	Cells []Cell // NUMA nodes
	Banks []Bank // of caches
}

// Bank is a cache that processors share.
type Bank struct {
	Level int    `xml:"level,attr"`
	CPUs  string `xml:"cpus,attr"` // a list of processors
}

// mostProcessors bounds the number of a host's processors.
const mostProcessors = 1 << 16

// Processors are the numbers of those in a list such as 0-3,8; none where it cannot be read.
func (b Bank) Processors() map[int]bool {
	all, listed := map[int]bool{}, 0
	for part := range strings.SplitSeq(b.CPUs, ",") {
		from, to, isRange := strings.Cut(part, "-")
		first, err := strconv.Atoi(from)
		last := first
		if isRange && err == nil {
			last, err = strconv.Atoi(to)
		}
		if err != nil || first < 0 || last < first || last >= mostProcessors {
			return nil
		}
		if listed += last - first + 1; listed > mostProcessors {
			return nil
		}
		for id := first; id <= last; id++ {
			all[id] = true
		}
	}
	return all
}

// Capabilities describe the host.
func (h Host) Capabilities(ctx context.Context) (c Capabilities, err error) {
	body, err := h.Conn.call(ctx, procCapabilities, nil)
	if err != nil {
		return c, fmt.Errorf("query the capabilities of the host: %w", err)
	}
	d := decoder{b: body}
	text := d.string()
	if err := d.end(); err != nil {
		return c, fmt.Errorf("query the capabilities of the host: %w", err)
	}
	return decodeCapabilities(text)
}

func decodeCapabilities(text string) (Capabilities, error) {
	var v struct {
		UUID  string `xml:"host>uuid"`
		Cells []struct {
			Memory struct {
				KiB int64 `xml:",chardata"`
			} `xml:"memory"`
			CPUs []CellCPU `xml:"cpus>cpu"`
		} `xml:"host>topology>cells>cell"`
		Banks []Bank `xml:"host>cache>bank"`
	}
	if err := xml.Unmarshal([]byte(text), &v); err != nil {
		return Capabilities{}, fmt.Errorf("capabilities of the host: %w", err)
	}
	out := Capabilities{UUID: strings.TrimSpace(v.UUID), Banks: v.Banks}
	for _, c := range v.Cells {
		out.Cells = append(out.Cells, Cell{Memory: max(0, c.Memory.KiB) << 10, CPUs: c.CPUs})
	}
	return out, nil
}

// Abilities are the kinds of domains that a host can run, of its own architecture.
type Abilities struct {
	Arch  string
	Types []string // such as kvm and qemu
}

// Abilities lists what the host can run.
func (h Host) Abilities(ctx context.Context) (a Abilities, err error) {
	body, err := h.Conn.call(ctx, procCapabilities, nil)
	if err != nil {
		return a, fmt.Errorf("query the capabilities of the host: %w", err)
	}
	d := decoder{b: body}
	text := d.string()
	if err := d.end(); err != nil {
		return a, fmt.Errorf("query the capabilities of the host: %w", err)
	}
	return decodeAbilities(text)
}

func decodeAbilities(text string) (a Abilities, err error) {
	var v struct {
		Arch   string `xml:"host>cpu>arch"`
		Guests []struct {
			Arch struct {
				Name    string `xml:"name,attr"`
				Domains []struct {
					Type string `xml:"type,attr"`
				} `xml:"domain"`
			} `xml:"arch"`
		} `xml:"guest"`
	}
	if err := xml.Unmarshal([]byte(text), &v); err != nil {
		return a, fmt.Errorf("capabilities of the host: %w", err)
	}
	a.Arch = v.Arch
	for _, g := range v.Guests {
		if g.Arch.Name != a.Arch {
			continue
		}
		for _, d := range g.Arch.Domains {
			a.Types = append(a.Types, d.Type)
		}
	}
	return a, nil
}
