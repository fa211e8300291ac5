package topology

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"plimsoll/internal/effort"
)

func randomShape(r *rand.Rand) Shape {
	return Shape{
		Name: "h", Sockets: 1 + r.IntN(4), NodesPerSocket: 1 << r.IntN(3), CoresPerNode: 1 + r.IntN(32), ThreadsPerCore: 1 + r.IntN(2),
		CoresPerCache: r.IntN(9), MemoryPerNode: r.Int64N(600) * gib / 2,
	}
}

func randomVM(r *rand.Rand) VM {
	return VM{Name: "vm", VCPUs: 1 + r.IntN(160), Memory: r.Int64N(1 << 41), CoresPerSocket: r.IntN(20), HotAdd: r.IntN(4) == 0}
}

func randomOptions(r *rand.Rand) Options {
	o := Options{PreferHT: r.IntN(3) == 0, Strict: r.IntN(3) == 0, ExposeOnHotAdd: r.IntN(2) == 0}
	if r.IntN(3) == 0 {
		o.VNUMAMin = r.IntN(16)
	}
	if r.IntN(3) == 0 {
		o.MaxSockets = 1 + r.IntN(4)
	}
	if r.IntN(3) == 0 {
		o.MaxCoresPerSocket = 1 + r.IntN(40)
	}
	return o
}

// leastNodes tries every number of nodes: the minimum for which an even distribution fits the
// smallest node of the hosts that the VM fits; 0 if it fits none.
func leastNodes(m VM, hosts []Shape, o Options) int {
	unit, bytes := 0, int64(0)
	for _, h := range hosts {
		if m.VCPUs > h.Cores() || h.MemoryPerNode > 0 && m.Memory > h.Memory() {
			continue
		}
		u := h.CoresPerNode
		if o.PreferHT {
			u *= h.ThreadsPerCore
		}
		if unit == 0 || u < unit {
			unit = u
		}
		if h.MemoryPerNode > 0 && (bytes == 0 || h.MemoryPerNode < bytes) {
			bytes = h.MemoryPerNode
		}
	}
	if unit == 0 {
		return 0
	}
	for k := 1; k < m.VCPUs; k++ {
		each := (m.VCPUs + k - 1) / k
		if each <= unit && (bytes == 0 || m.Memory <= int64(k)*bytes) {
			return k
		}
	}
	return m.VCPUs
}

func TestAdviceHolds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range effort.Of(30000) {
		m, o := randomVM(r), randomOptions(r)
		var hosts []Shape
		for range 1 + r.IntN(3) {
			hosts = append(hosts, randomShape(r))
		}
		a, err := Advise(m, hosts, o)
		if err != nil {
			t.Fatal(err)
		}
		if problem := broken(a, hosts); problem != "" {
			t.Fatalf("%s:\nVM %+v\nhosts %+v\noptions %+v\n%+v", problem, m, hosts, o, a)
		}
		b, _ := Advise(m, hosts, o)
		if !reflect.DeepEqual(a, b) {
			t.Fatal("the same question has two answers")
		}
	}
}

// broken is a property that a recommendation violates.
func broken(a Advice, hosts []Shape) string {
	m, o := a.VM, a.Options
	vcpus, bytes := 0, int64(0)
	for _, n := range a.Nodes {
		vcpus, bytes = vcpus+n.VCPUs, bytes+n.Memory
		if n.VCPUs < 1 || n.VCPUs%n.CacheGroups != 0 || n.Memory < 0 {
			return "a node that cannot be"
		}
	}
	worst := Aligned
	for _, reason := range a.Reasons {
		worst = max(worst, reason.Grade)
	}
	least := leastNodes(m, hosts, o)
	switch k := len(a.Nodes); {
	case a.Sockets*a.CoresPerSocket != m.VCPUs:
		return "sockets times cores are not the vCPUs"
	case vcpus != m.VCPUs || bytes != m.Memory:
		return "the nodes are not the whole VM"
	case a.Grade != worst || len(a.Reasons) == 0:
		return "the grade is not that of the worst reason"
	case (least == 0) != (a.Grade == ExceedsHost):
		return "exceeds, or not"
	case least > 0 && k != least && (k != least+1 || o.Strict || m.VCPUs%k != 0 || m.VCPUs%least == 0):
		return "not the least number of nodes, nor one more that is even"
	case a.Exposed && (k == 1 || m.HotAdd && !o.ExposeOnHotAdd):
		return "a guest sees nodes that it cannot"
	case o.MaxSockets > 0 && a.Sockets > o.MaxSockets && a.Grade < Capped:
		return "more sockets than are used, and nobody says so"
	case o.MaxCoresPerSocket > 0 && a.CoresPerSocket > o.MaxCoresPerSocket:
		return "a socket that the platform does not take"
	case m.CoresPerSocket > 0 && m.CoresPerSocket != a.CoresPerSocket && a.Grade < Stale:
		return "stale, and nobody says so"
	case least > 0 && o == Options{PreferHT: o.PreferHT, Strict: o.Strict} && a.CoresPerSocket > a.Unit:
		return "a socket larger than a node without need"
	}
	return overfull(a, hosts, least)
}

// overfull finds a host on which the nodes of a recommendation do not fit although the VM
// does.
func overfull(a Advice, hosts []Shape, least int) string {
	if least == 0 {
		most := 0
		for _, h := range hosts {
			most = max(most, h.Nodes())
		}
		if len(a.Nodes) > most {
			return "more nodes than any host has"
		}
		return ""
	}
	for _, h := range hosts {
		if a.VM.VCPUs > h.Cores() || h.MemoryPerNode > 0 && a.VM.Memory > h.Memory() {
			continue
		}
		for _, n := range a.Nodes {
			if n.VCPUs > h.unit(a.Options.PreferHT) {
				return "a node with more vCPUs than one of a host takes"
			}
			if h.MemoryPerNode > 0 && n.Memory > h.MemoryPerNode && len(a.Nodes) < a.VM.VCPUs {
				return "a node with more memory than one of a host has"
			}
		}
	}
	return ""
}

func TestCacheGroupsAreTheFewest(t *testing.T) {
	for n := 1; n <= 64; n++ {
		for c := 1; c <= 64; c++ {
			g := cacheGroups(n, c)
			if n%g != 0 || n/g > c {
				t.Fatalf("%d vCPUs, %d a cache: %d groups do not fit", n, c, g)
			}
			for fewer := 1; fewer < g; fewer++ {
				if n%fewer == 0 && n/fewer <= c {
					t.Fatalf("%d vCPUs, %d a cache: %d groups, and %d would do", n, c, g, fewer)
				}
			}
		}
	}
}
