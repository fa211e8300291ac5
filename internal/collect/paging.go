package collect

import "plimsoll/internal/hoststat"

// Paging counts page faults, swapping and reclaim.
func Paging() Source {
	s := Source{
		Name:  "paging",
		Doc:   "page faults, swapping and memory reclaim, from /proc/vmstat",
		Needs: []string{"vmstat"},
		Host: flat(func(i *hoststat.Interval, values map[string]float64) {
			for _, p := range pagingNames {
				for _, key := range p.keys {
					if v, ok := i.VM[key]; ok {
						values[p.name] += v
					}
				}
			}
		}),
	}
	for _, p := range pagingNames {
		s.Counters = append(s.Counters, cumulative(p.name, "1/s", p.doc))
	}
	return s
}

// pagingNames are sums of counters of the kernel, of which older and newer versions have others.
var pagingNames = []struct {
	name, doc string
	keys      []string
}{
	{"paging.faults", "page faults", []string{"pgfault"}},
	{"paging.major_faults", "page faults that waited for I/O", []string{"pgmajfault"}},
	{"paging.swap.in", "pages swapped in", []string{"pswpin"}},
	{"paging.swap.out", "pages swapped out", []string{"pswpout"}},
	{"paging.scanned", "pages scanned for reclaim", []string{"pgscan_kswapd", "pgscan_direct", "pgscan_khugepaged"}},
	{"paging.scanned.direct", "pages scanned by tasks that waited for memory (direct reclaim)", []string{"pgscan_direct"}},
	{"paging.reclaimed", "pages reclaimed", []string{"pgsteal_kswapd", "pgsteal_direct", "pgsteal_khugepaged"}},
	{"paging.stalls", "allocations that waited for direct reclaim", []string{"allocstall_dma", "allocstall_dma32", "allocstall_normal", "allocstall_movable"}},
	{"paging.refaults", "pages read again soon after reclaim", []string{"workingset_refault", "workingset_refault_anon", "workingset_refault_file"}},
	{"paging.compaction_stalls", "allocations that waited for memory compaction", []string{"compact_stall"}},
	{"paging.huge_pages", "page faults served with a huge page", []string{"thp_fault_alloc"}},
	{"paging.huge_pages.failed", "page faults that got no huge page", []string{"thp_fault_fallback"}},
	{"paging.oom_kills", "processes killed by the OOM killer", []string{"oom_kill"}},
}
