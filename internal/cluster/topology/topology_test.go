package topology

import (
	"slices"
	"strings"
	"testing"
)

const gib = int64(1) << 30

// smt is a host with two threads a core, whose sockets are nodes.
func smt(sockets, cores int) Shape {
	return Shape{Name: "h", Sockets: sockets, NodesPerSocket: 1, CoresPerNode: cores, ThreadsPerCore: 2, MemoryPerNode: 256 * gib}
}

func epyc(nodes, cores, cache int) Shape {
	s := smt(1, cores)
	s.NodesPerSocket, s.CoresPerCache = nodes, cache
	return s
}

func advise(t *testing.T, m VM, o Options, hosts ...Shape) Advice {
	t.Helper()
	if m.Name == "" {
		m.Name = "vm"
	}
	a, err := Advise(m, hosts, o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// says reports whether a reason of a grade and a rule contains a text.
func says(a Advice, g Grade, rule, words string) bool {
	return slices.ContainsFunc(a.Reasons, func(r Reason) bool {
		return r.Grade == g && r.Rule == rule && strings.Contains(r.Text, words)
	})
}

func vcpusOf(a Advice) []int {
	var s []int
	for _, n := range a.Nodes {
		s = append(s, n.VCPUs)
	}
	return s
}

// The published examples.
func TestPublishedExamples(t *testing.T) {
	tests := []struct {
		name    string
		host    Shape
		m       VM
		o       Options
		sockets int
		cores   int
		nodes   []int
		exposed bool
		grade   Grade
		rule    string // of a reason of that grade
		words   string
	}{
		{"Cassandra as it was", smt(2, 28), VM{VCPUs: 14, CoresPerSocket: 1}, Options{}, 1, 14, []int{14}, false, Stale, "T7", "now 1 core per socket (14 sockets), recommended 14"},
		{"Cassandra", smt(2, 28), VM{VCPUs: 14, CoresPerSocket: 14}, Options{}, 1, 14, []int{14}, false, Aligned, "T1", "one node"},
		{"2x4", smt(2, 4), VM{VCPUs: 4}, Options{}, 1, 4, []int{4}, false, Aligned, "T1", "one node"},
		{"Platinum 8380, desktop", smt(2, 40), VM{VCPUs: 2}, Options{}, 1, 2, []int{2}, false, Aligned, "T1", "one node"},
		{"EPYC 7763", epyc(1, 64, 8), VM{VCPUs: 8}, Options{}, 1, 8, []int{8}, false, Aligned, "T1", "one node"},
		{"2x20 20", smt(2, 20), VM{VCPUs: 20}, Options{}, 1, 20, []int{20}, false, Aligned, "T1", "one node"},
		{"2x20 21", smt(2, 20), VM{VCPUs: 21}, Options{}, 21, 1, []int{11, 10}, true, Odd, "T7", "2 nodes (11 + 10): give it 20 vCPUs (one node), or 22 vCPUs (2 x 11)"},
		{"2x20 23", smt(2, 20), VM{VCPUs: 23}, Options{}, 23, 1, []int{12, 11}, true, Odd, "T7", "give it 24 vCPUs (2 x 12), or 22 vCPUs (2 x 11)"},
		{"2x20 39", smt(2, 20), VM{VCPUs: 39}, Options{}, 39, 1, []int{20, 19}, true, Odd, "T7", "give it 40 vCPUs (2 x 20), or 38 vCPUs (2 x 19)"},
		{"2x20 24", smt(2, 20), VM{VCPUs: 24}, Options{}, 2, 12, []int{12, 12}, true, Aligned, "T1", "2 x 12"},
		{"2x20 30", smt(2, 20), VM{VCPUs: 30}, Options{}, 2, 15, []int{15, 15}, true, Aligned, "T1", "2 x 15"},
		{"2x20 36", smt(2, 20), VM{VCPUs: 36}, Options{}, 2, 18, []int{18, 18}, true, Aligned, "T1", "2 x 18"},
		{"2x10 10", smt(2, 10), VM{VCPUs: 10}, Options{}, 1, 10, []int{10}, false, Aligned, "T1", "one node"},
		{"2x10 12", smt(2, 10), VM{VCPUs: 12}, Options{}, 2, 6, []int{6, 6}, true, Aligned, "T1", "2 x 6"},
		{"2x10 16", smt(2, 10), VM{VCPUs: 16}, Options{}, 2, 8, []int{8, 8}, true, Aligned, "T1", "2 x 8"},
		{"2x10 12 preferHT", smt(2, 10), VM{VCPUs: 12}, Options{PreferHT: true}, 1, 12, []int{12}, false, Aligned, "T1", "20 threads"},
		{"4x10 40 as 2x20", smt(4, 10), VM{VCPUs: 40, CoresPerSocket: 20}, Options{}, 4, 10, []int{10, 10, 10, 10}, true, Stale, "T9", "spans 2 nodes"},
		{"2x20 12 with 384 GB", smt(2, 20), VM{VCPUs: 12, Memory: 384 * gib}, Options{}, 2, 6, []int{6, 6}, true, MemorySplit, "T5", "33 % of it would be remote (published: 31 %"},
		{"EPYC 7401", epyc(4, 6, 0), VM{VCPUs: 8}, Options{}, 2, 4, []int{4, 4}, false, Flat, "T1", "set numa.vcpu.min=6"},
		{"EPYC 7401, minimum set", epyc(4, 6, 0), VM{VCPUs: 8}, Options{VNUMAMin: 6}, 2, 4, []int{4, 4}, true, Aligned, "T1", "2 x 4"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := advise(t, test.m, test.o, test.host)
			if a.Sockets != test.sockets || a.CoresPerSocket != test.cores {
				t.Errorf("%d sockets of %d cores, want %d of %d", a.Sockets, a.CoresPerSocket, test.sockets, test.cores)
			}
			if got := vcpusOf(a); !slices.Equal(got, test.nodes) {
				t.Errorf("nodes %v, want %v", got, test.nodes)
			}
			if a.Exposed != test.exposed || a.Grade != test.grade {
				t.Errorf("exposed %v, grade %s; want %v, %s", a.Exposed, a.Grade, test.exposed, test.grade)
			}
			if !says(a, test.grade, test.rule, test.words) {
				t.Errorf("no reason of %s and %s says %q:\n%s", test.grade, test.rule, test.words, a.Text())
			}
		})
	}
}

// The sweep of 8 to 51 vCPUs on four sockets of 24 cores: changes around 24 and 48.
func TestSweepAroundNodes(t *testing.T) {
	for n := 8; n <= 51; n++ {
		a := advise(t, VM{VCPUs: n}, Options{Strict: true}, smt(4, 24))
		want := (n + 23) / 24
		if len(a.Nodes) != want {
			t.Errorf("%d vCPUs on %d nodes, want %d", n, len(a.Nodes), want)
		}
		if odd := n%want != 0; odd != (a.Grade == Odd) {
			t.Errorf("%d vCPUs on %d nodes: grade %s", n, want, a.Grade)
		}
		if a.Exposed != (want > 1) {
			t.Errorf("%d vCPUs: exposed %v", n, a.Exposed)
		}
	}
	for n, want := range map[int][]int{24: {24}, 25: {13, 12}, 26: {13, 13}, 27: {9, 9, 9}, 45: {15, 15, 15}, 47: {24, 23}, 48: {24, 24}, 49: {17, 16, 16}, 50: {17, 17, 16}, 51: {17, 17, 17}} {
		if got := vcpusOf(advise(t, VM{VCPUs: n}, Options{}, smt(4, 24))); !slices.Equal(got, want) {
			t.Errorf("%d vCPUs: nodes %v, want %v", n, got, want)
		}
	}
	if a := advise(t, VM{VCPUs: 27}, Options{}, smt(4, 24)); a.Automatic || !says(a, Aligned, "T2", "3 equal nodes are better") {
		t.Errorf("more nodes than the least are not explained:\n%s", a.Text())
	}
}

func TestSocketsAreNeverDivided(t *testing.T) {
	tests := []struct {
		vcpus, cores, nodes int
		want                []int
	}{
		{30, 2, 2, []int{16, 14}}, // published
		{36, 2, 2, []int{18, 18}},
		{21, 7, 2, []int{14, 7}},
		{21, 1, 2, []int{11, 10}},
		{10, 4, 2, []int{8, 2}},
		{4, 4, 2, []int{4, 0}},
		{0, 4, 2, nil}, {4, 0, 2, nil}, {4, 4, 0, nil},
	}
	for _, test := range tests {
		if got := grouped(test.vcpus, test.cores, test.nodes); !slices.Equal(got, test.want) {
			t.Errorf("%d vCPUs in sockets of %d on %d nodes: %v, want %v", test.vcpus, test.cores, test.nodes, got, test.want)
		}
	}
	if a := advise(t, VM{VCPUs: 30, CoresPerSocket: 2}, Options{}, smt(2, 20)); !says(a, Stale, "T3", "nodes of 16 + 14") {
		t.Errorf("the lopsided nodes are not named:\n%s", a.Text())
	}
}

func TestHotAdd(t *testing.T) {
	m := VM{VCPUs: 24, HotAdd: true}
	if a := advise(t, m, Options{}, smt(2, 20)); a.Exposed || a.Grade != HotAddFlat || !says(a, HotAddFlat, "T6", "sees one node instead of 2") {
		t.Errorf("hot-add hides the nodes:\n%s", a.Text())
	}
	if a := advise(t, m, Options{ExposeOnHotAdd: true}, smt(2, 20)); !a.Exposed || a.Grade != Aligned {
		t.Errorf("nodes that are shown with hot-add:\n%s", a.Text())
	}
	if a := advise(t, VM{VCPUs: 20, HotAdd: true}, Options{}, smt(2, 20)); a.Grade != Aligned {
		t.Errorf("a VM of one node loses nothing:\n%s", a.Text())
	}
	if a := advise(t, VM{VCPUs: 8}, Options{VNUMAMin: 1}, epyc(4, 6, 0)); !a.Exposed || a.Grade != Aligned {
		t.Errorf("nodes by force:\n%s", a.Text())
	}
}

func TestCaches(t *testing.T) {
	tests := []struct {
		host   Shape
		vcpus  int
		o      Options
		groups []int
		grade  Grade
	}{
		{epyc(1, 64, 8), 8, Options{}, []int{1}, Aligned},
		{epyc(1, 64, 8), 9, Options{}, []int{3}, SpansLLC},
		{epyc(1, 64, 8), 16, Options{}, []int{2}, SpansLLC},
		{epyc(1, 64, 8), 16, Options{PreferHT: true}, []int{1}, Aligned},
		{epyc(1, 64, 4), 14, Options{}, []int{7}, SpansLLC},
		{epyc(1, 64, 4), 13, Options{}, []int{13}, SpansLLC},
		{epyc(4, 8, 4), 16, Options{}, []int{2, 2}, SpansLLC},  // Naples
		{epyc(2, 32, 64), 40, Options{}, []int{1, 1}, Aligned}, // a cache that serves several nodes
		{smt(2, 20), 20, Options{}, []int{1}, Aligned},         // a cache that serves a node
		{smt(2, 20), 24, Options{PreferHT: true}, []int{1}, Aligned},
	}
	for _, test := range tests {
		a := advise(t, VM{VCPUs: test.vcpus}, test.o, test.host)
		var got []int
		for _, n := range a.Nodes {
			got = append(got, n.CacheGroups)
		}
		if !slices.Equal(got, test.groups) || a.Grade != test.grade {
			t.Errorf("%d vCPUs, %d cores a cache: groups %v, grade %s; want %v, %s", test.vcpus, test.host.CoresPerCache, got, a.Grade, test.groups, test.grade)
		}
	}
}

func TestLimits(t *testing.T) {
	tests := []struct {
		name    string
		vcpus   int
		o       Options
		sockets int
		cores   int
		grade   Grade
		rule    string
		words   string
	}{
		{"none", 36, Options{}, 2, 18, Aligned, "T1", "2 x 18"},
		{"sockets enough", 36, Options{MaxSockets: 2}, 2, 18, Aligned, "T1", "2 x 18"},
		{"one socket", 36, Options{MaxSockets: 1}, 1, 36, SpansLLC, "T11", "a socket of 36 spans 2 nodes"},
		{"cores of a socket", 36, Options{MaxCoresPerSocket: 8}, 6, 6, Aligned, "T4", "at most 8 cores"},
		{"both, none left", 36, Options{MaxSockets: 4, MaxCoresPerSocket: 8}, 6, 6, Capped, "T11", "24 of 36 vCPUs would be used"},
		{"odd, few sockets", 21, Options{MaxSockets: 2}, 1, 21, SpansLLC, "T11", "a socket of 21 spans 2 nodes"},
	}
	for _, test := range tests {
		a := advise(t, VM{VCPUs: test.vcpus}, test.o, smt(2, 20))
		if a.Sockets != test.sockets || a.CoresPerSocket != test.cores {
			t.Errorf("%s: %d sockets of %d, want %d of %d", test.name, a.Sockets, a.CoresPerSocket, test.sockets, test.cores)
		}
		if !says(a, test.grade, test.rule, test.words) || a.Grade != test.grade && a.Grade != Odd {
			t.Errorf("%s: grade %s:\n%s", test.name, a.Grade, a.Text())
		}
	}
	// Three equal nodes and two sockets: a socket must hold whole nodes, or the VM does not start.
	if a := advise(t, VM{VCPUs: 36}, Options{MaxSockets: 2}, smt(4, 14)); a.CoresPerSocket != 36 {
		t.Errorf("3 nodes of 12 in at most 2 sockets: sockets of %d", a.CoresPerSocket)
	}
}

func TestUnequalHosts(t *testing.T) {
	small, large := smt(4, 14), smt(2, 20)
	small.Name, large.Name = "small", "large"
	a := advise(t, VM{VCPUs: 36, CoresPerSocket: 18}, Options{}, large, small)
	if got := vcpusOf(a); !slices.Equal(got, []int{12, 12, 12}) || !says(a, Aligned, "T9", "small has the smallest nodes") || !says(a, Stale, "T9", "one node spans 2") {
		t.Errorf("nodes %v:\n%s", got, a.Text())
	}
	if a.Automatic {
		t.Error("where hosts differ, the first power-on would decide")
	}
	tiny := smt(1, 8)
	tiny.Name = "tiny"
	a = advise(t, VM{VCPUs: 36}, Options{}, tiny, large, tiny)
	if got := vcpusOf(a); !slices.Equal(got, []int{18, 18}) || !says(a, Aligned, "T7", "tiny is too small for it (8 cores, 256 GiB) and so are 1 more") {
		t.Errorf("a host that is too small counts: nodes %v\n%s", got, a.Text())
	}
	b := advise(t, VM{VCPUs: 36}, Options{}, large, tiny, tiny)
	if !slices.Equal(vcpusOf(a), vcpusOf(b)) || a.Grade != b.Grade {
		t.Error("the order of hosts changes the advice")
	}
}

func TestTooLarge(t *testing.T) {
	small := smt(2, 10)
	for name, test := range map[string]struct {
		m     VM
		words string
	}{
		"vCPUs":  {VM{VCPUs: 30}, "30 vCPUs are more than the 20 physical cores"},
		"memory": {VM{VCPUs: 4, Memory: 1024 * gib}, "1024 GiB of memory are more than the 512 GiB"},
		"more":   {VM{VCPUs: 300}, "300 vCPUs are more than the 20 physical cores"},
	} {
		a := advise(t, test.m, Options{}, small)
		if a.Grade != ExceedsHost || !says(a, ExceedsHost, "T7", test.words) {
			t.Errorf("%s:\n%s", name, a.Text())
		}
		if len(a.Nodes) > 2 {
			t.Errorf("%s: %d nodes on a host of 2", name, len(a.Nodes))
		}
	}
	cores, bytes := smt(2, 20), smt(2, 4)
	cores.MemoryPerNode, bytes.MemoryPerNode = 16*gib, 512*gib
	a := advise(t, VM{VCPUs: 30, Memory: 100 * gib}, Options{}, bytes, cores)
	if a.Grade != ExceedsHost {
		t.Errorf("no host has both:\n%s", a.Text())
	}
}

func TestUnknownIsNotJudged(t *testing.T) {
	host := smt(2, 20)
	host.MemoryPerNode = 0
	a := advise(t, VM{VCPUs: 12, Memory: 900 * gib}, Options{}, host)
	if a.Grade != Aligned || !says(a, Aligned, "T5", "whether its memory fits is unknown") || !says(a, Aligned, "T4", "its present topology is unknown") {
		t.Errorf("what is not known is passed over:\n%s", a.Text())
	}
}

func TestImpossibleSizes(t *testing.T) {
	fine := smt(2, 20)
	broken := func(change func(*Shape)) []Shape { s := fine; change(&s); return []Shape{fine, s} }
	for name, test := range map[string]struct {
		m     VM
		hosts []Shape
		o     Options
	}{
		"no vCPUs":           {VM{}, []Shape{fine}, Options{}},
		"negative vCPUs":     {VM{VCPUs: -4}, []Shape{fine}, Options{}},
		"too many vCPUs":     {VM{VCPUs: 1 << 30}, []Shape{fine}, Options{}},
		"negative memory":    {VM{VCPUs: 1, Memory: -1}, []Shape{fine}, Options{}},
		"negative sockets":   {VM{VCPUs: 1, CoresPerSocket: -1}, []Shape{fine}, Options{}},
		"no host":            {VM{VCPUs: 1}, nil, Options{}},
		"a host of no nodes": {VM{VCPUs: 1}, broken(func(s *Shape) { s.NodesPerSocket = 0 }), Options{}},
		"overflow":           {VM{VCPUs: 1}, broken(func(s *Shape) { s.Sockets, s.CoresPerNode = 1<<16, 1<<16 }), Options{}},
		"memory overflows":   {VM{VCPUs: 1}, broken(func(s *Shape) { s.MemoryPerNode = 1 << 62 }), Options{}},
		"negative limit":     {VM{VCPUs: 1}, []Shape{fine}, Options{MaxSockets: -1}},
	} {
		if _, err := Advise(test.m, test.hosts, test.o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestEveryReasonRestsOnARule(t *testing.T) {
	known := map[string]bool{}
	for _, r := range rules {
		if r.Text == "" || r.Source == "" {
			t.Errorf("%s says nothing, or not where it is from", r.ID)
		}
		known[r.ID] = true
	}
	if len(known) != 11 || known[""] {
		t.Errorf("%d rules", len(known))
	}
	all := grades()
	if len(all) != 9 || all[0] != ExceedsHost || Grade(99).String() != "grade(99)" {
		t.Errorf("grades %v", all)
	}
}
