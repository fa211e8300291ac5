// Package cgroup reads control groups, of both versions, which may be in use side by side.
package cgroup

import (
	"cmp"
	"maps"

	"plimsoll/internal/hoststat/psi"
)

// Idle is the weight of a group that runs only where no other one would (cpu.idle).
const Idle = 0.3

// Group is a control group. Limits are 0 where there is none.
type Group struct {
	Path             string            `json:"path"`
	Version          int               `json:"version,omitempty"`    // of control groups: 1 or 2
	Folders          map[string]string `json:"folders,omitempty"`    // by controller: cpu, cpuacct, cpuset, memory, io or blkio
	NodeMemory       []float64         `json:"nodeMemory,omitempty"` // gauge, in bytes, by NUMA node
	Usage            float64           `json:"usage"`                // CPU time
	Quota            float64           `json:"quota,omitempty"`
	Periods          float64           `json:"periods,omitempty"`
	ThrottledPeriods float64           `json:"throttledPeriods,omitempty"`
	Throttled        float64           `json:"throttled,omitempty"` // time, summed over CPUs
	CPUSet           string            `json:"cpuset,omitempty"`
	Weight           float64           `json:"weight,omitempty"` // share of CPU time among its siblings; 100 is the preset of both versions
	Memory           float64           `json:"memory,omitempty"` // gauge, in bytes
	MemoryLimit      float64           `json:"memoryLimit,omitempty"`
	LimitHits        float64           `json:"limitHits,omitempty"` // allocations that met the memory limit
	Refaults         float64           `json:"refaults,omitempty"`  // pages read again soon after reclaim
	Swap             float64           `json:"swap,omitempty"`      // gauge, in bytes
	MemoryPressure   psi.Pressure      `json:"memoryPressure,omitzero"`
	IOPressure       psi.Pressure      `json:"ioPressure,omitzero"`
	MemoryFile       string            `json:"memoryFile,omitempty"`  // file with the limit
	MemoryMax        float64           `json:"memoryMax,omitempty"`   // limit at which processes are killed
	MaxFile          string            `json:"maxFile,omitempty"`     // file with it
	OutOfMemory      float64           `json:"outOfMemory,omitempty"` // allocations that failed at that limit or at one below; version 1 counts LimitHits only
	Kills            float64           `json:"kills,omitempty"`       // processes killed because memory ran out, here or on the host
	IO               []IO              `json:"io,omitempty"`          // by device; version 1 counts what limits apply to
	IOLimits         []IOLimit         `json:"ioLimits,omitempty"`
}

// IO is what a control group read from a device and wrote to it.
type IO struct {
	Device     string  `json:"device"` // major and minor number
	ReadBytes  float64 `json:"readBytes"`
	WriteBytes float64 `json:"writeBytes"`
	Reads      float64 `json:"reads"`
	Writes     float64 `json:"writes"`
}

// IOLimit is a limit of a control group on a device.
type IOLimit struct {
	Device string  `json:"device"` // major and minor number
	Kind   string  `json:"kind"`   // rbps, wbps, riops, wiops as in io.max
	Value  float64 `json:"value"`  // bytes or operations per second
	File   string  `json:"file"`   // with the limit
}

// Counters are the cumulative counters, in a fixed order.
func (g *Group) Counters() []*float64 {
	return []*float64{
		&g.Usage, &g.Periods, &g.ThrottledPeriods, &g.Throttled, &g.LimitHits, &g.Refaults, &g.Kills, &g.OutOfMemory,
		&g.MemoryPressure.Some, &g.MemoryPressure.Full, &g.IOPressure.Some, &g.IOPressure.Full,
	}
}

// Counters are the cumulative counters, in a fixed order.
func (g *IO) Counters() []*float64 {
	return []*float64{&g.ReadBytes, &g.WriteBytes, &g.Reads, &g.Writes}
}

// merge adds what another controller's folder of the same path has.
func (g *Group) merge(other *Group) {
	for _, one := range []struct{ to, from *float64 }{
		{&g.Usage, &other.Usage}, {&g.Quota, &other.Quota}, {&g.Weight, &other.Weight}, {&g.Periods, &other.Periods}, {&g.ThrottledPeriods, &other.ThrottledPeriods},
		{&g.Throttled, &other.Throttled}, {&g.Memory, &other.Memory}, {&g.MemoryLimit, &other.MemoryLimit}, {&g.MemoryMax, &other.MemoryMax}, {&g.OutOfMemory, &other.OutOfMemory},
		{&g.LimitHits, &other.LimitHits}, {&g.Refaults, &other.Refaults}, {&g.Swap, &other.Swap}, {&g.Kills, &other.Kills},
	} {
		*one.to = max(*one.to, *one.from)
	}
	if other.CPUSet != "" {
		g.CPUSet = other.CPUSet
	}
	if other.NodeMemory != nil {
		g.NodeMemory = other.NodeMemory
	}
	g.MemoryFile, g.MaxFile = cmp.Or(other.MemoryFile, g.MemoryFile), cmp.Or(other.MaxFile, g.MaxFile)
	g.IO, g.IOLimits = append(g.IO, other.IO...), append(g.IOLimits, other.IOLimits...)
	maps.Copy(g.Folders, other.Folders)
}
