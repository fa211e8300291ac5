package memory

import (
	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat"
)

// leastStalls is the rate of allocations that reclaimed memory themselves from which they matter
// without PSI: each takes in the order of a millisecond.
const leastStalls = 20

// memoryReclaim finds a host on which allocations must wait until memory is free. A page cache
// that fills the memory looks alike: kswapd frees it ahead of time, and nobody waits.
var memoryReclaim = diagnosis.Rule{
	Name: "memory_reclaim", Area: diagnosis.Memory,
	Doc:      "allocations wait until the kernel has freed memory, or moved it together",
	Needs:    []string{"vmstat", "memory", "processes"},
	Explains: []string{"device_ceiling", "queue_depth_low", "disk_neighbour"},
	Check: func(e *diagnosis.Evidence) []diagnosis.Finding {
		reclaims := directReclaims(e.Mean)
		stalls := reclaims + e.Mean.VM["compact_stall"]
		stall, known := stalled(e.Mean)
		confidence := diagnosis.Certain
		if !known {
			stall, confidence = min(1, stalls*0.001), diagnosis.Likely
		}
		if stall < leastStall || stalls < 1 || !known && stalls < leastStalls {
			return nil
		}
		names, first := largest(e)
		if first == nil {
			return nil
		}
		f := diagnosis.Finding{
			Confidence: confidence,
			Impact:     stall,
			Says:       "The host is short of memory: {stalls} allocations per second free memory themselves before they go on, and tasks wait for it {waiting} of the time. {available} of {total} are available; the largest programs are " + names + ".",
			Evidence: []diagnosis.Fact{
				diagnosis.Number("stalls", stalls), diagnosis.Share("waiting", stall),
				diagnosis.Bytes("available", e.Mean.Memory["MemAvailable"]), diagnosis.Bytes("total", e.Mean.Memory["MemTotal"]),
				diagnosis.Number("pages scanned", e.Mean.VM["pgscan_direct"]), diagnosis.Number("cached pages read again", e.Mean.VM["workingset_refault_file"]),
			},
			Change:     &diagnosis.Change{Says: "add memory to the host, or make " + first.Subject() + " use less"},
			Prediction: gain(stall, "the time that tasks wait for memory"),
		}
		if e.Mean.Memory["MemAvailable"] > ample*e.Mean.Memory["MemTotal"] {
			f.Change = &diagnosis.Change{
				Says:    "let the kernel free memory earlier: memory is available, but bursts of allocations outrun kswapd",
				Command: "sysctl vm.watermark_scale_factor=200",
			}
			if byZones(e, &f, first) {
				return []diagnosis.Finding{f}
			}
		}
		if reclaims < 1 {
			return nil // moved together for huge pages, and there was room
		}
		return []diagnosis.Finding{f}
	},
}

// directReclaims is the rate of allocations on the host that reclaimed memory; control groups at
// their own limits do not count.
func directReclaims(i *hoststat.Interval) float64 {
	sum := i.VM["allocstall"] // up to Linux 4.9
	for _, zone := range []string{"dma", "dma32", "normal", "movable", "high", "device"} {
		sum += i.VM["allocstall_"+zone]
	}
	return sum
}
