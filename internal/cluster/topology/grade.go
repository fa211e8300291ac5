package topology

import "fmt"

// Grade is the quality of a VM's present or possible layout.
type Grade uint8

// The grades, from the best to the worst.
const (
	Aligned     Grade = iota // the guest sees the real topology
	SpansLLC                 // vCPUs that appear to share a cache use several
	MemorySplit              // more nodes than its vCPUs need, because of its memory
	Odd                      // nodes of different sizes
	Stale                    // the present configuration differs
	Flat                     // spread over nodes that are hidden from the guest, because it is small
	HotAddFlat               // the same, because of CPU hot-add
	Capped                   // a limit on sockets leaves vCPUs unused
	ExceedsHost              // larger than every host
)

var gradeNames = [...]string{"aligned", "spans-LLC", "memory-split", "odd", "stale", "flat", "hot-add-flat", "capped", "exceeds-host"}

// String is the name of the grade.
func (g Grade) String() string {
	if int(g) >= len(gradeNames) {
		return fmt.Sprintf("grade(%d)", g)
	}
	return gradeNames[g]
}

// MarshalText writes the name.
func (g Grade) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// grades lists all, the worst first.
func grades() []Grade {
	var all []Grade
	for g := len(gradeNames) - 1; g >= 0; g-- {
		all = append(all, Grade(g))
	}
	return all
}

// Reason is a reason of a recommendation, as text.
type Reason struct {
	Grade Grade  `json:"grade"` // resulting grade; Aligned for a remark
	Rule  string `json:"rule"`  // ID of the underlying published rule
	Text  string `json:"text"`
}

// rule is a published rule about virtual topologies.
type rule struct {
	ID, Text, Source string
}

var rules = []rule{
	{"T1", "A guest is shown NUMA nodes when it has at least numa.vcpu.min vCPUs (9) and more of them than a node has cores; with numa.vcpu.preferHT, threads count instead of cores.", "vSphere Resource Management; Denneman"},
	{"T2", "As few nodes as fit, with the vCPUs spread evenly over them.", "Denneman"},
	{"T3", "Cores per socket no longer size the nodes (since 6.5), but a socket is never divided among nodes.", "Denneman"},
	{"T4", "vSphere 8 can choose the socket at power-on, and then shows the shared cache as it is.", "VMware, vSphere 8 virtual topology"},
	{"T5", "The automatic layout does not look at memory, and stays as it was at the first power-on until the number of vCPUs changes (numa.autosize.once).", "vSphere Resource Management; Denneman"},
	{"T6", "A VM to which vCPUs can be added is shown a single node, unless exposeVnumaOnCpuHotadd is set.", "vSphere Resource Management"},
	{"T7", "One socket until the VM exceeds a node in cores or memory, then the least nodes that divide it evenly; no odd numbers beyond a node; no VM larger than the host's physical cores.", "VMware performance blog, 2017 and 2019"},
	{"T8", "A last-level cache may serve fewer cores than a node has.", "Denneman"},
	{"T9", "In a mixed cluster a VM keeps the layout it was shown, while each host places it as it can: size for the smallest node it may run on.", "Denneman"},
	{"T10", "Devices can be assigned to a node only with cores per socket set by hand.", "Denneman"},
	{"T11", "Exceptions: single-thread latency was better with one core per socket; some guests and licences use a limited number of sockets.", "VMware, vSphere 8 virtual topology"},
}
