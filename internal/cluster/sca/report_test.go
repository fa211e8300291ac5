package sca

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"plimsoll/internal/cluster"
)

// lab has three equal hosts, one of another kind, an empty one, and VMs of 4 and 3 vCPUs, by
// host.
func lab(vms ...[]int) *cluster.Cluster {
	c := &cluster.Cluster{Name: "lab", Settings: cluster.DefaultSettings(), Pools: []cluster.Pool{{Name: "root", Parent: cluster.Nowhere}}}
	for i, sizes := range vms {
		h := *host(8, 2)
		h.Name, h.State, h.Memory = fmt.Sprint("esx-", i), cluster.Connected, 1<<38
		if i >= 3 {
			h.CoresPerNode, h.MHz = 4*i, 3000
		}
		c.Hosts = append(c.Hosts, h)
		for k, v := range sizes {
			c.VMs = append(c.VMs, cluster.VM{Name: fmt.Sprintf("m-%d-%d", i, k), Host: cluster.HostID(i), VCPUs: v, Memory: 1 << 30,
				CPU: cluster.Allocation{Limit: cluster.Unlimited, Shares: 1}, Mem: cluster.Allocation{Limit: cluster.Unlimited, Shares: 1},
				Demand: cluster.Demand{CPU: cluster.Steady(1000)}})
		}
	}
	return c
}

func TestKinds(t *testing.T) {
	c := lab([]int{4, 3}, []int{4, 3}, []int{4, 3}, []int{4, 4}, nil)
	r := Look(c, cluster.Nowhere, Model{})
	if len(r.Kinds) != 3 || len(r.Kinds[0].Hosts) != 3 || r.Yield != DefaultYield {
		t.Fatalf("%+v", r)
	}
	three := r.Kinds[0]
	if !reflect.DeepEqual(three.Mix, []Group{{3, 3}, {4, 3}}) || three.Asked != 2000 || three.Load != 125 || three.Policies[0].Busy != nil {
		t.Errorf("%+v", three)
	}
	one := Look(c, 1, Model{}).Kinds
	if len(one) != 1 || one[0].Policies[V2.index()].Busy == nil || one[0].Policies[V2.index()].Busy.Idle != 1 {
		t.Fatalf("%+v", one)
	}
	for i, o := range three.Policies { // the same proportions, the same factor
		if o.Factor != one[0].Policies[i].Factor || o.CPU != one[0].Policies[i].CPU || o.Lost.Most != 0 {
			t.Errorf("%+v of three hosts, %+v of one", o, one[0].Policies[i])
		}
	}
	if f := three.Policies[2].Factor; f <= 699 || f >= 1000 {
		t.Errorf("SCAv2 leaves %d per mille with odd VMs", f)
	}
	if f := r.Kinds[1].Policies[2].Factor; f != 1000 {
		t.Errorf("SCAv2 leaves %d per mille with even VMs", f)
	}
	if !strings.Contains(r.Kinds[2].Why, "no VM runs there") || r.Kinds[2].Policies != nil {
		t.Errorf("an empty host: %+v", r.Kinds[2])
	}
}

func (p Policy) index() int {
	for i, o := range policies {
		if o == p {
			return i
		}
	}
	return -1
}

// A host that one VM fills has its own rule, also if several hosts are equal.
func TestKindsThatAreFilled(t *testing.T) {
	for _, c := range []*cluster.Cluster{lab([]int{16}), lab([]int{16}, []int{16}, []int{16})} {
		v2 := Look(c, cluster.Nowhere, Model{}).Kinds[0].Policies[2]
		if !strings.Contains(strings.Join(v2.Caveats, "\n"), "1 % is assumed") {
			t.Errorf("%d hosts: %v", len(c.Hosts), v2.Caveats)
		}
	}
}

func TestReportAsText(t *testing.T) {
	c := lab([]int{4, 3, 8, 8}, []int{32}, nil)
	for v := range c.VMs {
		c.VMs[v].Demand.CPU = cluster.Steady(3700)
	}
	c.Hosts[1].MHz, c.Hosts[0].Factor = 2100, 700
	var b bytes.Buffer
	if err := Look(c, cluster.Nowhere, Model{Yield: 1250}).Text(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"1.25 times the work", "esx-0: 8 cores of 2000 MHz with 2 threads each", "1 of 3 vCPUs, 1 of 4 vCPUs, 2 of 8 vCPUs; demand 14800 MHz, 92.5% of",
		"the snapshot has factor: 70%", "scav1    factor: 80% ", "12800 MHz  13.5% to 30%", "no estimate: estimate the schedulers", "32 vCPUs does not fit its 16 threads",
		"Assumptions", "Published for other hosts", "2019",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("nothing says %q in\n%s", want, b.String())
		}
	}
	if n := strings.Count(b.String(), "measure it, and specify it"); n != 2 {
		t.Errorf("a caveat of two policies is said %d times", n)
	}
}

// VMs with a core per vCPU lose nothing under any policy, whatever their demand; of several
// hosts, only the full one loses.
func TestLostIsBoundedByWhatRuns(t *testing.T) {
	c := lab([]int{4, 4}, []int{4, 4, 4, 4}, nil)
	for v := range c.VMs {
		c.VMs[v].Demand.CPU = cluster.Steady(8000)
	}
	for host, want := range map[cluster.HostID][3]string{0: {"0%", "0%", "0%"}, 1: {"0%", "30.1%", "not known"}, cluster.Nowhere: {"0%", "20%", "not known"}} {
		k := Look(c, host, Model{}).Kinds[0]
		for i, o := range k.Policies {
			if got := o.Lost.String(); got != want[i] {
				t.Errorf("host %d, %s: %s lost, want %s", host, o.Policy, got, want[i])
			}
		}
	}
}

// The expected loss includes published figures, and is open where there are none.
func TestExpectedHoldsThePublished(t *testing.T) {
	for _, test := range []struct {
		policy Policy
		vcpus  int
		load   int
		want   string
	}{
		{Default, 4, 750, "0%"}, {V2, 4, 750, "0% to 11%"}, {V2, 4, 200, "0% to 11%"}, {V2, 4, 751, "not known"}, {V2, 4, 1000, "not known"},
		{V2, 3, 1000, "not known, at least 15.1%"}, {V1, 4, 750, "6.8% to 30%"}, {V1, 4, 1000, "30.1%"}, {V1, 4, 0, "0%"},
	} {
		row := assessed(t, host(28, 2), 0, Group{test.vcpus, 100})[test.policy]
		if got := row.Expected(test.load).String(); got != test.want {
			t.Errorf("%s, %d vCPUs at %d per mille: %s, want %s", test.policy, test.vcpus, test.load, got, test.want)
		}
	}
	for _, row := range assessed(t, host(28, 2), 0, Group{4, 7}) { // a core for each vCPU
		if got := row.Expected(1000); got != (Loss{Known: true}) {
			t.Errorf("%s: %+v", row.Policy, got)
		}
	}
	for load := range 1200 {
		for _, row := range assessed(t, host(28, 2), 0, Group{3, 50}, Group{4, 50}) {
			l := row.Expected(load)
			if l.Least < 0 || l.Known && l.Most < l.Least || !l.Known && l.Most != 0 || row.Policy == V2 && load == 750 && l.Most < 110 {
				t.Fatalf("%s at %d: %+v", row.Policy, load, l)
			}
		}
	}
}
