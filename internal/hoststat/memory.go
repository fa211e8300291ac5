package hoststat

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"plimsoll/internal/hoststat/parse"
	"plimsoll/internal/platform"
)

// Gauges of /proc/vmstat that State.Memory has in bytes, beside those of /proc/meminfo.
const (
	DirtyThreshold  = "DirtyThreshold"           // dirty memory at which writers wait
	DirtyBackground = "DirtyBackgroundThreshold" // dirty memory from which the kernel writes
	Balloon         = "Balloon"                  // taken by the hypervisor; older kernels count inflation only
)

// readVM reads /proc/vmstat.
func readVM(r *Reader, s *State) error {
	text, err := r.file("proc/vmstat")
	if err != nil {
		return err
	}
	s.VM = make(map[string]float64, 200)
	parse.Pairs(text, func(name []byte, value float64) { s.VM[string(name)] = value })
	page := float64(os.Getpagesize())
	s.Memory = map[string]float64{
		DirtyThreshold:  page * s.VM["nr_dirty_threshold"],
		DirtyBackground: page * s.VM["nr_dirty_background_threshold"],
	}
	if inflated, counted := s.VM["balloon_inflate"]; counted {
		s.Memory[Balloon] = page * max(0, inflated-s.VM["balloon_deflate"])
	}
	return nil
}

// readMemory reads /proc/meminfo.
func readMemory(r *Reader, s *State) error {
	text, err := r.file("proc/meminfo")
	if err != nil {
		return err
	}
	if s.Memory == nil {
		s.Memory = make(map[string]float64, 60)
	}
	parse.Pairs(text, func(name []byte, value float64) { s.Memory[string(name)] = value })
	return nil
}

// readNodes reads /sys/devices/system/node of a host with several NUMA nodes.
func readNodes(r *Reader, s *State) error {
	for n := 0; ; n++ {
		folder := fmt.Sprintf("sys/devices/system/node/node%d/", n)
		text, err := r.file(folder + "numastat")
		if err != nil {
			if n == 0 {
				return err
			}
			return nil
		}
		node := Node{Stat: map[string]float64{}, Memory: map[string]float64{}}
		parse.Pairs(text, func(name []byte, value float64) { node.Stat[string(name)] = value })
		if text, err = r.file(folder + "cpulist"); err == nil {
			if node.CPUs, err = platform.ParseCPUs(string(bytes.TrimSpace(text))); err != nil {
				return fmt.Errorf("CPUs of node %d: %w", n, err)
			}
		}
		if text, err = r.file(folder + "meminfo"); err == nil {
			for line := range bytes.Lines(text) { // "Node 0 MemTotal: ..."
				if f := bytes.SplitN(line, []byte(" "), 3); len(f) == 3 {
					parse.Pairs(f[2], func(name []byte, value float64) { node.Memory[string(name)] = value })
				}
			}
		}
		if s.Nodes = append(s.Nodes, node); n >= mostNodes {
			return errors.New("more than 1024 NUMA nodes")
		}
	}
}

const mostNodes = 1024
