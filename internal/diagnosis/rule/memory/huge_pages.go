package memory

import (
	"slices"

	"plimsoll/internal/diagnosis"
)

const (
	// largeHeap is the anonymous memory from which random accesses miss the TLB: large ones hold
	// 2,048 base pages, which are 8 MiB; at 64 times that nearly all accesses walk the page table,
	// and its last level alone does not fit into a second-level cache.
	largeHeap = 512 << 20
	// computing is the use of CPUs in user mode, or the wish for it, of a program that is limited by its CPU.
	computing = 0.7
	// leastComputing is the use of CPUs below which page walks do not matter.
	leastComputing = 0.1
	// mostHuge is the memory in huge pages on the host, as a share of a program's heap, from which they
	// may be the program's.
	mostHuge = 0.5
	// walkCost is the share of time that page walks cost at random accesses to a large heap: from
	// 5 to 30 % in Basu et al., "Efficient Virtual Memory for Big Memory Servers", ISCA 2013.
	walkLow, walkHigh = 0.05, 0.3
)

// withoutHuge are programs whose makers advise against transparent huge pages.
var withoutHuge = []string{"redis-server", "valkey-server", "mongod", "oracle", "couchbase", "beam.smp", "aerospike"}

// hugePages finds programs with a large heap that compute while huge pages are off. Whether the
// accesses are random cannot be seen without a PMU: programs that scan, or that use a small part,
// look alike, so the finding is a possible one only.
var hugePages = diagnosis.Rule{
	Name: "huge_pages", Area: diagnosis.Memory,
	Doc:   "huge pages are off, and a program with a large heap computes",
	Needs: []string{"memory", "processes"},
	Lacks: func(e *diagnosis.Evidence) string {
		if e.Setting("sys/kernel/mm/transparent_hugepage/enabled") == "" {
			return "no setting of transparent huge pages"
		}
		return ""
	},
	Check: func(e *diagnosis.Evidence) (found []diagnosis.Finding) {
		huge := e.Mean.Memory["AnonHugePages"] // of all programs; those from before huge pages were off stay
		if e.Setting("sys/kernel/mm/transparent_hugepage/enabled") != "never" {
			return nil
		}
		for _, p := range e.Services() {
			one := p.Processes[0]
			if one.Anon < largeHeap || huge > mostHuge*one.Anon || one.User+one.RunDelay < computing || one.User < leastComputing || one.User < 4*one.System || slices.Contains(withoutHuge, p.Name) || !e.Asked(one) {
				continue
			}
			found = append(found, diagnosis.Finding{
				Subject:    p.Subject(),
				Confidence: diagnosis.Possible,
				Impact:     (walkLow + walkHigh) / 2 * min(1, one.User),
				Says:       "Transparent huge pages are off, and {subject} computes on {CPUs} CPUs with {heap} of memory in small pages. If it accesses them at random, it waits for page walks.",
				Evidence:   []diagnosis.Fact{diagnosis.Number("CPUs", one.User), diagnosis.Bytes("heap", one.Anon), diagnosis.Bytes("huge pages", huge)},
				Change: &diagnosis.Change{
					Says:    "let programs use transparent huge pages, and start " + p.Name + " again; with madvise only those that ask for them get them",
					Command: "echo always > /sys/kernel/mm/transparent_hugepage/enabled",
				},
				Prediction: &diagnosis.Prediction{Low: 0, High: walkHigh, Of: "throughput", Basis: "the cost of page walks at random accesses"},
			})
		}
		return found
	},
}
