package memory

import (
	"fmt"

	"plimsoll/internal/diagnosis"
)

const (
	// roomy is how many times the free memory up to which the kernel reclaims a node has that is
	// not short, and leastRoom the least share of it that is free.
	roomy, leastRoom = 4., 0.05
	// leastBlocks is the share of free memory in blocks of huge pages below which it is fragmented.
	leastBlocks = 0.02
	// moving is the share of the waiting allocations that moved pages from which these are the cause.
	moving = 0.5
)

// node is the memory of a NUMA node.
type node struct{ free, high, managed, blocks float64 }

// nodes are the NUMA nodes by what their zones have.
func nodes(e *diagnosis.Evidence) (all []node) {
	for _, z := range e.Mean.Zones {
		all = append(all, make([]node, max(0, z.Node+1-len(all)))...)
		n := &all[z.Node]
		n.free, n.high, n.managed, n.blocks = n.free+z.Free, n.high+z.High, n.managed+z.Managed, n.blocks+z.Blocks
	}
	return all
}

// byZones names why allocations wait although memory is available: it is on another node, or in
// pieces that are too small. It is false if neither is so.
func byZones(e *diagnosis.Evidence, f *diagnosis.Finding, first *diagnosis.Program) bool {
	all := nodes(e)
	short, other := -1, -1
	free, blocks, high := 0., 0., 0.
	for n, at := range all {
		free, blocks, high = free+at.free, blocks+at.blocks, high+at.high
		switch {
		case at.managed > 0 && at.free <= at.high:
			short = n
		case at.free >= roomy*at.high && at.free >= leastRoom*at.managed && (other < 0 || at.free > all[other].free):
			other = n
		}
	}
	moved := e.Mean.VM["compact_stall"]
	switch {
	case short >= 0 && other >= 0:
		f.Says = fmt.Sprintf("NUMA node %d is short of memory, while node %d has {free there}: {stalls} allocations per second free memory themselves before they go on, and tasks wait for it {waiting} of the time.", short, other)
		f.Evidence = append(f.Evidence, diagnosis.Bytes("free there", all[other].free), diagnosis.Bytes("free here", all[short].free), diagnosis.Bytes("reclaimed up to", all[short].high))
		f.Change = &diagnosis.Change{
			Says:    fmt.Sprintf("let the programs that are bound to node %d use other nodes, the largest is %s: interleave its memory, or widen its cpuset.mems", short, first.Subject()),
			Command: "numactl --interleave=all PROGRAM",
		}
		if mode := e.Setting("proc/sys/vm/zone_reclaim_mode"); mode != "" && mode != "0" {
			f.Change = &diagnosis.Change{Says: "let allocations use other nodes before they reclaim their own", Command: "sysctl vm.zone_reclaim_mode=0"}
		}
	case free >= roomy*high && free > 0 && blocks < leastBlocks*free && moved >= moving*(moved+directReclaims(e.Mean)):
		f.Says = "Free memory is fragmented: of {free} only {in blocks} are in blocks of huge pages, {stalls} allocations per second move pages together before they go on, and tasks wait for it {waiting} of the time."
		f.Evidence = append(f.Evidence, diagnosis.Bytes("free", free), diagnosis.Bytes("in blocks", blocks))
		f.Change = &diagnosis.Change{Says: "let the kernel move pages together in the background", Command: "sysctl vm.compaction_proactiveness=50"}
		if defrag := e.Setting("sys/kernel/mm/transparent_hugepage/defrag"); defrag == "always" || defrag == "madvise" {
			f.Change = &diagnosis.Change{Says: "let page faults take small pages instead of waiting for a huge one", Command: "echo defer > /sys/kernel/mm/transparent_hugepage/defrag"}
		}
	default:
		return false
	}
	return true
}
