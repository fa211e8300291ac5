package topology

import (
	"cmp"
	"slices"

	"plimsoll/internal/cluster"
)

// Fleet is the recommendations for all VMs of a cluster.
type Fleet struct {
	Cluster  string     `json:"cluster"`
	Advices  []Advised  `json:"advices"` // the worst grade first, then the largest VM
	Unjudged []Unjudged `json:"unjudged,omitempty"`
	Summary  []Share    `json:"summary"` // every grade, the worst first
}

// Advised is a VM of the cluster and its recommendation.
type Advised struct {
	ID cluster.VMID `json:"vm"`
	Advice
}

// Unjudged is a VM without a recommendation, and the reason.
type Unjudged struct {
	VM   cluster.VMID `json:"vm"`
	Name string       `json:"name"`
	Why  string       `json:"why"`
}

// Share is the share of a fleet with a grade.
type Share struct {
	Grade Grade `json:"grade"`
	VMs   int   `json:"machines"`
	VCPUs int   `json:"vcpus"`
}

// Scan makes a recommendation for every VM of a cluster, for the hosts that could ever run it
// by networks, datastores, size and must-rules; failed hosts do not count. A VM that could run
// on none is compared with all hosts.
func Scan(c *cluster.Cluster, o Options) Fleet { return ScanIndexed(c, cluster.NewIndex(c), o) }

// ScanIndexed is Scan with an existing index of the cluster.
func ScanIndexed(c *cluster.Cluster, index *cluster.Index, o Options) Fleet {
	f := Fleet{Cluster: c.Name, Advices: []Advised{}}
	classes := classify(c)
	for i := range c.VMs {
		v := cluster.VMID(i)
		hosts := classes.allowed(index, v)
		nowhere := len(hosts) == 0
		if nowhere {
			hosts = classes.shapes
		}
		a, err := Advise(vmOf(&c.VMs[i]), hosts, o)
		if err != nil {
			f.Unjudged = append(f.Unjudged, Unjudged{v, c.VMs[i].Name, err.Error()})
			continue
		}
		if nowhere {
			a.Reasons = append(a.Reasons, Reason{Aligned, "T9", "no host can ever run it, by size, networks, datastores and rules: it was compared with all of them"})
		}
		f.Advices = append(f.Advices, Advised{v, a})
	}
	slices.SortStableFunc(f.Advices, func(a, b Advised) int {
		return cmp.Or(cmp.Compare(b.Grade, a.Grade), cmp.Compare(b.VM.VCPUs, a.VM.VCPUs), cmp.Compare(a.ID, b.ID))
	})
	for _, g := range grades() {
		s := Share{Grade: g}
		for _, a := range f.Advices {
			if a.Grade == g {
				s.VMs++
				s.VCPUs += a.VM.VCPUs
			}
		}
		f.Summary = append(f.Summary, s)
	}
	return f
}

// classes are hosts of equal shape, of which a cluster has few.
type classes struct {
	shapes []Shape
	hosts  [][]cluster.HostID
	names  []string // by host of the cluster
}

func classify(c *cluster.Cluster) classes {
	var k classes
	known := map[Shape]int{}
	for i := range c.Hosts {
		k.names = append(k.names, c.Hosts[i].Name)
		if c.Hosts[i].State == cluster.Failed {
			continue
		}
		s := shapeOf(&c.Hosts[i])
		nameless := s
		nameless.Name = ""
		n, found := known[nameless]
		if !found {
			n = len(k.shapes)
			known[nameless] = n
			k.shapes, k.hosts = append(k.shapes, s), append(k.hosts, nil)
		}
		k.hosts[n] = append(k.hosts[n], cluster.HostID(i))
	}
	return k
}

// allowed are the shapes of hosts that may run the VM, under the name of the first such host.
func (k classes) allowed(x *cluster.Index, v cluster.VMID) []Shape {
	var shapes []Shape
	for i, hosts := range k.hosts {
		if j := slices.IndexFunc(hosts, func(h cluster.HostID) bool { return x.Allowed(v, h) }); j >= 0 {
			s := k.shapes[i]
			s.Name = k.names[hosts[j]]
			shapes = append(shapes, s)
		}
	}
	return shapes
}
