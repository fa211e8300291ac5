package sca

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"plimsoll/internal/cluster"
)

func host(cores, threads int) *cluster.Host {
	return &cluster.Host{Name: "h", Sockets: 1, NodesPerSocket: 1, CoresPerNode: cores, ThreadsPerCore: threads, MHz: 2000, Factor: 1000}
}

func assessed(t *testing.T, h *cluster.Host, yield int, mix ...Group) map[Policy]Row {
	t.Helper()
	rows, err := assess(h, mix, Model{Yield: yield})
	if err != nil {
		t.Fatal(err)
	}
	by := map[Policy]Row{}
	for i, r := range rows {
		if r.Policy != policies[i] || len(r.Caveats) == 0 {
			t.Errorf("row %d is of %s, with %d caveats", i, r.Policy, len(r.Caveats))
		}
		by[r.Policy] = r
	}
	return by
}

// Published results, by direction and bounds.
func TestPublishedDirections(t *testing.T) {
	// A host of 28 cores at saturation: SCAv1 loses up to 30 %, whatever the VMs.
	for _, v := range []int{1, 2, 3, 4, 7, 8, 14} {
		r := assessed(t, host(28, 2), 0, Group{v, 100})
		if f := r[V1].Factor; f < 695 || f > 700 || r[V1].LossAt(1000) != 1000-f {
			t.Errorf("%d vCPUs: SCAv1 leaves %d per mille at saturation", v, f)
		}
		if r[V2].Factor < r[V1].Factor || r[V2].Factor > 1000 {
			t.Errorf("%d vCPUs: SCAv2 leaves %d, SCAv1 %d", v, r[V2].Factor, r[V1].Factor)
		}
		// At 75 % of it: at most 11 % less, and less than at saturation.
		for _, p := range []Policy{V1, V2} {
			if l := r[p].LossAt(750); l > 110 || l > r[p].LossAt(1000) {
				t.Errorf("%d vCPUs, %s at 75 %%: %d per mille lost", v, p, l)
			}
		}
		if l := r[V2].LossAt(690); l != 0 {
			t.Errorf("%d vCPUs: SCAv2 loses %d per mille below every capacity", v, l)
		}
	}
	// With a usual gain from the second thread, the loss is smaller.
	if f := assessed(t, host(28, 2), 1250, Group{4, 100})[V1].Factor; f != 800 {
		t.Errorf("SCAv1 leaves %d per mille where a second thread adds a quarter", f)
	}
	// One VM of 192 vCPUs that fills the host: slightly better with SCAv1.
	r := assessed(t, host(96, 2), 0, Group{192, 1})
	if v1, v2 := r[V1].Work, r[V2].Work; v1 <= v2 || v1-v2 > v1/50 || r[Default].Work < v1 {
		t.Errorf("one VM that fills the host: SCAv1 %d, SCAv2 %d", v1, v2)
	}
	if !strings.Contains(strings.Join(r[V2].Caveats, "\n"), "1 % is assumed") {
		t.Error("nobody says that the size is assumed")
	}
	if len(published) != 3 {
		t.Error("three figures were published")
	}
}

func TestFactorByParity(t *testing.T) {
	tests := []struct {
		vcpus       int
		v1, v2, all int
	}{
		{1, 699, 699, 1000}, {2, 699, 1000, 1000}, {3, 699, 849, 1000}, {4, 699, 1000, 1000}, {5, 699, 899, 1000}, {7, 699, 924, 1000}, {8, 699, 1000, 1000},
	}
	for _, test := range tests {
		for p, want := range map[Policy]int{Default: test.all, V1: test.v1, V2: test.v2} {
			if got := assessed(t, host(28, 2), 0, Group{test.vcpus, 200})[p].Factor; got != want {
				t.Errorf("%s, 200 VMs of %d vCPUs: %d, want %d", p, test.vcpus, got, want)
			}
		}
	}
}

func TestCapacity(t *testing.T) {
	h := host(10, 2)
	h.Overhead.CPU = 1000
	r := assessed(t, h, 1250, Group{2, 3}, Group{1, 2})
	if r[Default].CPU != 19000 || r[V1].CPU != 15000 || h.Factor != 1000 {
		t.Errorf("capacity %d and %d MHz, factor of the host %d", r[Default].CPU, r[V1].CPU, h.Factor)
	}
	for p, row := range r { // eight vCPUs have a core each under every policy
		if row.Work != 8000 || row.Relative != 1000 {
			t.Errorf("%s: work %d, relative %d", p, row.Work, row.Relative)
		}
	}
	if r[V1].Idle != 10 || r[V2].Idle != 2 || r[Default].Idle != 0 {
		t.Errorf("idle threads %d, %d, %d", r[Default].Idle, r[V1].Idle, r[V2].Idle)
	}
	for p, row := range assessed(t, host(10, 1), 0, Group{3, 9}) {
		if row.Work != 10000 || row.Factor != 1000 || row.Idle != 0 {
			t.Errorf("%s without SMT: %+v", p, row)
		}
	}
}

// most tries every way to pair vCPUs of VMs on the cores; -1 if there are too few cores.
func most(vms []int, cores, yield int) int {
	if cores < 0 {
		return -1
	}
	if len(vms) == 0 {
		return 0
	}
	best := -1
	for pairs := 0; pairs <= vms[0]/2; pairs++ {
		singles := vms[0] - 2*pairs
		if rest := most(vms[1:], cores-pairs-singles, yield); rest >= 0 {
			best = max(best, rest+pairs*yield+singles*one)
		}
	}
	return best
}

func TestWorkIsTheMost(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	tried := 0
	for range 3000 {
		cores, yield := 2+r.IntN(7), one+r.IntN(one+1)
		var vms []int
		var mix []Group
		for range 2 + r.IntN(4) {
			v := 1 + r.IntN(min(7, 2*cores))
			vms, mix = append(vms, v), append(mix, Group{v, 1})
		}
		want := most(vms, cores, yield)
		if want < 0 {
			continue
		}
		tried++
		if got := assessed(t, host(cores, 2), yield, mix...)[V2].Work; got != int64(want) {
			t.Fatalf("VMs %v on %d cores, yield %d: %d, want %d", vms, cores, yield, got, want)
		}
	}
	if tried < 500 {
		t.Fatalf("only %d tried", tried)
	}
}

func TestOrderOfPolicies(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 20000 {
		h, yield := host(1+r.IntN(64), 1+r.IntN(2)), one+r.IntN(one+1)
		var mix []Group
		for range 1 + r.IntN(4) {
			mix = append(mix, Group{1 + r.IntN(h.Cores()*h.ThreadsPerCore), 1 + r.IntN(30)})
		}
		rows, err := assess(h, mix, Model{Yield: yield})
		if err != nil {
			t.Fatal(err)
		}
		d, v1, v2 := rows[0], rows[1], rows[2]
		fills := len(mix) == 1 && mix[0].Count == 1 && mix[0].VCPUs == 2*h.Cores()
		if v1.Work > v2.Work && !fills || v2.Work > d.Work || v1.Work > d.Work {
			t.Fatalf("%d cores of %d threads, %v: work %d, %d, %d", h.Cores(), h.ThreadsPerCore, mix, d.Work, v1.Work, v2.Work)
		}
		if v1.Factor > v2.Factor && !fills || v2.Factor > 1000 || d.Factor != 1000 {
			t.Fatalf("%d cores, %v: factors %d, %d, %d", h.Cores(), mix, d.Factor, v1.Factor, v2.Factor)
		}
		again, _ := assess(h, mix, Model{Yield: yield})
		if !reflect.DeepEqual(rows, again) {
			t.Fatal("the same question has two answers")
		}
	}
}

func TestImpossibleMixes(t *testing.T) {
	for name, test := range map[string]struct {
		h     *cluster.Host
		mix   []Group
		yield int
		words string
	}{
		"no VM":            {host(4, 2), nil, 0, "no VM"},
		"none of a size":   {host(4, 2), []Group{{2, 0}}, 0, "no VM"},
		"no vCPUs":         {host(4, 2), []Group{{0, 1}}, 0, "0 vCPUs does not fit"},
		"larger":           {host(4, 2), []Group{{9, 1}}, 0, "9 vCPUs does not fit its 8 threads"},
		"negative":         {host(4, 2), []Group{{1, -1}}, 0, "-1 VMs"},
		"too many":         {host(4, 2), []Group{{1, 1 << 20}, {1, 1}}, 0, "1 VMs of 1 vCPUs"},
		"no cores":         {host(0, 2), []Group{{1, 1}}, 0, "0 cores"},
		"too many cores":   {host(1<<20, 2), []Group{{1, 1}}, 0, "cores: must be 1 to"},
		"eight threads":    {host(4, 8), []Group{{1, 1}}, 0, "8 threads"},
		"less for two":     {host(4, 2), []Group{{1, 1}}, 900, "900 per mille"},
		"more than double": {host(4, 2), []Group{{1, 1}}, 2001, "2001 per mille"},
	} {
		if _, err := assess(test.h, test.mix, Model{Yield: test.yield}); err == nil || !strings.Contains(err.Error(), test.words) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
