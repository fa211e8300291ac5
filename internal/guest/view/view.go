// Package view reads a machine's topology from its own kernel: sockets, dies, cores, threads,
// caches with their instances, NUMA nodes and the distances between them. It shows several
// views side by side in the format of lscpu.
//
// The input is a function that reads a file, so the machine may be this one, a guest, one
// behind an agent, or a recorded tree. The view never uses the settings of a hypervisor; a
// part whose file is absent is absent.
package view

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/platform"
)

// Topology is a machine as its own kernel reports it.
type Topology struct {
	Model string  `json:"model,omitempty"` // name of the processor; empty if unknown
	CPUs  []CPU   `json:"cpus"`            // online CPUs, by number
	Cache []Cache `json:"caches,omitempty"`
	Nodes []Node  `json:"nodes,omitempty"` // none if the kernel has no NUMA
}

// CPU is the position of a logical processor. Numbers are the kernel's; a core's number is
// unique only within a die, and a die's within a socket.
type CPU struct {
	ID     int `json:"id"`
	Socket int `json:"socket"`
	Die    int `json:"die"`
	Core   int `json:"core"`
}

// Cache is a kind of cache, such as the level 2 caches.
type Cache struct {
	Name    string   `json:"name"`    // L1d, L1i, L2, L3
	Size    int64    `json:"size"`    // bytes of one instance; 0 if unknown
	Sharing []string `json:"sharing"` // CPUs per instance
}

// Node is a NUMA node.
type Node struct {
	ID        int    `json:"id"`
	CPUs      string `json:"cpus"`                // CPU list; empty for a node without CPUs
	Memory    int64  `json:"memory,omitempty"`    // bytes; 0 if unknown
	Distances []int  `json:"distances,omitempty"` // to each node, in order of Nodes
}

const (
	processors = "/sys/devices/system/cpu/"
	nodes      = "/sys/devices/system/node/"
)

// Read reads a machine's view of itself. A mandatory file of Linux that is absent or malformed
// is an error.
func Read(read func(name string) ([]byte, error)) (Topology, error) {
	r := reader{read}
	ids, err := r.list(processors + "online")
	if err != nil {
		return Topology{}, fmt.Errorf("read the online CPUs: %w", err)
	}
	var t Topology
	for _, id := range ids {
		c, err := r.cpu(id)
		if err != nil {
			return Topology{}, fmt.Errorf("read the topology of CPU %d: %w", id, err)
		}
		t.CPUs = append(t.CPUs, c)
		if t.Cache, err = r.caches(id, t.Cache); err != nil {
			return Topology{}, fmt.Errorf("read the caches of CPU %d: %w", id, err)
		}
	}
	if t.Nodes, err = r.nodes(); err != nil {
		return Topology{}, fmt.Errorf("read the NUMA nodes: %w", err)
	}
	t.Model = r.model()
	return t, nil
}

// Sockets is the number of sockets.
func (t Topology) Sockets() int { return t.count(func(c CPU) CPU { return CPU{Socket: c.Socket} }) }

// Dies is the number of dies in all sockets.
func (t Topology) Dies() int {
	return t.count(func(c CPU) CPU { return CPU{Socket: c.Socket, Die: c.Die} })
}

// Cores is the number of cores in all sockets.
func (t Topology) Cores() int {
	return t.count(func(c CPU) CPU { return CPU{Socket: c.Socket, Die: c.Die, Core: c.Core} })
}

// Threads is the number of online CPUs.
func (t Topology) Threads() int { return len(t.CPUs) }

func (t Topology) count(place func(CPU) CPU) int {
	seen := map[CPU]bool{}
	for _, c := range t.CPUs {
		seen[place(c)] = true
	}
	return len(seen)
}

// LastLevel is the cache farthest from the cores, if there is one.
func (t Topology) LastLevel() (Cache, bool) {
	if len(t.Cache) == 0 {
		return Cache{}, false
	}
	return t.Cache[len(t.Cache)-1], true
}

type reader struct {
	read func(name string) ([]byte, error)
}

func (r reader) text(name string) (string, error) {
	b, err := r.read(name)
	return strings.TrimSpace(string(b)), err
}

func (r reader) list(name string) ([]int, error) {
	s, err := r.text(name)
	if err != nil {
		return nil, err
	}
	l, err := List(s)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return l, nil
}

func (r reader) number(name string) (int, error) {
	s, err := r.text(name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, fmt.Errorf("%s holds %q, not a number", name, s)
	}
	return n, nil
}

func (r reader) cpu(id int) (CPU, error) {
	dir := fmt.Sprintf("%scpu%d/topology/", processors, id)
	c := CPU{ID: id}
	var err error
	if c.Socket, err = r.number(dir + "physical_package_id"); err != nil {
		return c, err
	}
	if c.Core, err = r.number(dir + "core_id"); err != nil {
		return c, err
	}
	// Kernels before 5.2 have no dies.
	if c.Die, err = r.number(dir + "die_id"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	return c, nil
}

func (r reader) caches(id int, known []Cache) ([]Cache, error) {
	for i := range 8 {
		dir := fmt.Sprintf("%scpu%d/cache/index%d/", processors, id, i)
		level, err := r.number(dir + "level")
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return nil, err
		}
		kind, err := r.text(dir + "type")
		if err != nil {
			return nil, err
		}
		shared, err := r.text(dir + "shared_cpu_list")
		if err != nil {
			return nil, err
		}
		size, _ := r.text(dir + "size") // hypervisors may hide it
		known = addCache(known, Cache{name(level, kind), bytes(size), []string{shared}})
	}
	return known, nil
}

func name(level int, kind string) string {
	n := "L" + strconv.Itoa(level)
	switch kind {
	case "Data":
		return n + "d"
	case "Instruction":
		return n + "i"
	}
	return n
}

// addCache keeps one entry per kind, nearest level first.
func addCache(known []Cache, c Cache) []Cache {
	i := slices.IndexFunc(known, func(k Cache) bool { return k.Name == c.Name && k.Size == c.Size })
	if i < 0 {
		known = append(known, c)
		slices.SortStableFunc(known, func(a, b Cache) int { return strings.Compare(a.Name, b.Name) })
		return known
	}
	if !slices.Contains(known[i].Sharing, c.Sharing[0]) {
		known[i].Sharing = append(known[i].Sharing, c.Sharing[0])
	}
	return known
}

// bytes parses a size in the kernel's notation, such as 32768K.
func bytes(s string) int64 {
	digits := strings.TrimRight(s, "KM")
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil {
		return 0
	}
	switch strings.TrimPrefix(s, digits) {
	case "K":
		return n << 10
	case "M":
		return n << 20
	}
	return n
}

func (r reader) nodes() ([]Node, error) {
	ids, err := r.list(nodes + "online")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Node
	for _, id := range ids {
		dir := fmt.Sprintf("%snode%d/", nodes, id)
		n := Node{ID: id}
		if n.CPUs, err = r.text(dir + "cpulist"); err != nil {
			return nil, err
		}
		d, err := r.text(dir + "distance")
		if err != nil {
			return nil, err
		}
		for _, f := range strings.Fields(d) {
			v, err := strconv.Atoi(f)
			if err != nil {
				return nil, fmt.Errorf("%sdistance holds %q, not a list of numbers", dir, d)
			}
			n.Distances = append(n.Distances, v)
		}
		if m, err := r.read(dir + "meminfo"); err == nil {
			n.Memory, _ = platform.Meminfo(m, "MemTotal")
		}
		all = append(all, n)
	}
	return all, nil
}

func (r reader) model() string {
	s, err := r.text("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(s) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
