package spec

import (
	"fmt"
	"strings"

	"plimsoll/internal/guest/view"
	"plimsoll/internal/platform"
)

// Pins returns the host CPUs of each vCPU. The setting is one list for all of them, or a list
// for each, separated by slashes.
func (g Guest) Pins() ([]string, error) {
	if g.Pin == "" || g.Pin == Unset {
		return nil, nil
	}
	lists := strings.Split(g.Pin, "/")
	for i, l := range lists {
		cpus, err := view.List(strings.TrimSpace(l))
		if err == nil && len(cpus) == 0 {
			err = fmt.Errorf("no CPU")
		}
		if err != nil {
			return nil, fmt.Errorf("pin %q: %w: must be none, CPUs of the host for all vCPUs as in 0-1, or for each as in 0/1", g.Pin, err)
		}
		lists[i] = platform.CPUsOf(cpus).String()
	}
	if len(lists) > 1 && len(lists) != g.VCPUs && g.VCPUs > 0 {
		return nil, fmt.Errorf("pin %q has CPUs for %d vCPUs, but the guest has %d", g.Pin, len(lists), g.VCPUs)
	}
	for len(lists) < g.VCPUs {
		lists = append(lists, lists[0])
	}
	return lists, nil
}

// PinText is the shortest setting for the CPUs of each vCPU.
func PinText(lists []string) string {
	for _, l := range lists {
		if l != lists[0] {
			return strings.Join(lists, "/")
		}
	}
	if len(lists) == 0 {
		return Unset
	}
	return lists[0]
}

// HostNodeList returns the host NUMA nodes of the memory.
func (g Guest) HostNodeList() ([]int, error) {
	if g.HostNodes == "" || g.HostNodes == Unset {
		return nil, nil
	}
	nodes, err := view.List(g.HostNodes)
	if err == nil && len(nodes) == 0 {
		err = fmt.Errorf("no node")
	}
	if err != nil {
		return nil, fmt.Errorf("host_nodes %q: %w: must be none, or NUMA nodes of the host as in 0 or 0-1", g.HostNodes, err)
	}
	return nodes, nil
}
