package memory

import (
	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat"
)

// leastBalloon is the share of a guest's memory that a balloon must have taken to matter.
const leastBalloon = 0.05

// ballooning finds a guest whose hypervisor takes memory that it needs. A balloon in memory that
// the guest does not use looks alike: nothing in the guest waits for memory.
var ballooning = diagnosis.Rule{
	Name: "ballooning", Area: diagnosis.Memory,
	Doc:      "the hypervisor takes memory from this guest, which lacks it",
	Needs:    []string{"vmstat", "memory"},
	Explains: []string{"swapping", "memory_reclaim"},
	Lacks: func(e *diagnosis.Evidence) string {
		if _, counted := e.Mean.Memory[hoststat.Balloon]; !counted {
			return "no counters of a balloon"
		}
		return ""
	},
	Check: func(e *diagnosis.Evidence) []diagnosis.Finding {
		taken, total := e.Mean.Memory[hoststat.Balloon], e.Mean.Memory["MemTotal"]
		inflated := e.Mean.VM["balloon_inflate"] * pageSize()
		stall, known := stalled(e.Mean)
		lacks := known && stall >= leastStall || !known && (e.Mean.VM["pswpin"] >= leastSwapIn || directReclaims(e.Mean) >= leastStalls)
		if taken < leastBalloon*(taken+total) || !lacks {
			return nil
		}
		return []diagnosis.Finding{{
			Confidence: diagnosis.Certain,
			Impact:     max(stall, leastStall),
			Says:       "The hypervisor has taken {taken} of this guest's memory by its balloon, and tasks of the guest wait for memory {waiting} of the time.",
			Evidence: []diagnosis.Fact{
				diagnosis.Bytes("taken", taken), diagnosis.Share("waiting", stall),
				diagnosis.Bytes("inflated per second", inflated), diagnosis.Bytes("left", total),
			},
			Change: &diagnosis.Change{
				Says:    "reserve the guest's memory on the hypervisor, or place fewer guests on its host",
				Command: "virsh setmem GUEST SIZE --live   # on the hypervisor; in vSphere a memory reservation",
			},
			Prediction: gain(stall, "the time that tasks wait for memory"),
		}}
	},
}
