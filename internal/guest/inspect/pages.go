package inspect

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// HugePage is the size in bytes of the host's huge pages that back the guest's memory, from
// the host's kernel; 0 for base pages. A guest cannot see it.
func (p Process) HugePage() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps", p.PID))
	if err != nil {
		return 0, fmt.Errorf("pages of guest %s: %w", p.Name, err)
	}
	return hugePage(string(text), p.Memory), nil
}

// hugePage finds the size of the pages in /proc/PID/smaps that together hold a guest's memory.
func hugePage(smaps string, memory int64) int64 {
	sizes := map[int64]int64{} // bytes of memory, by page size
	var size int64
	for line := range strings.Lines(smaps) {
		f := strings.Fields(line)
		if len(f) != 3 || f[2] != "kB" {
			continue
		}
		n, err := strconv.ParseInt(f[1], 10, 48)
		if err != nil {
			continue
		}
		switch f[0] {
		case "Size:":
			size = n << 10
		case "KernelPageSize:":
			sizes[n<<10] += size
		}
	}
	for _, page := range []int64{1 << 30, 2 << 20} {
		if sizes[page] >= memory {
			return page
		}
	}
	return 0
}

// HostNodes are the NUMA nodes of the host that memory of the guest is bound to, such as
// "0-1", from the host's kernel; empty if none is bound.
func (p Process) HostNodes() (string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/numa_maps", p.PID))
	if err != nil {
		return "", fmt.Errorf("nodes of the host for guest %s: %w", p.Name, err)
	}
	return boundNodes(string(text)), nil
}

// boundNodes finds the nodes of explicit policies in /proc/PID/numa_maps. Different policies
// are separated by slashes.
func boundNodes(maps string) string {
	var all []string
	for line := range strings.Lines(maps) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		for _, policy := range []string{"bind:", "interleave:"} {
			if list, ok := strings.CutPrefix(f[1], policy); ok && !slices.Contains(all, list) {
				all = append(all, list)
			}
		}
	}
	return strings.Join(all, "/")
}
