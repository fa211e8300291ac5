package generate

import (
	"math"
	"slices"
	"testing"
)

func TestSizesHaveAHeavyTail(t *testing.T) {
	s := Typical(64, 1)
	s.VMs = 8000
	x := newTrace(s)
	var sizes []int
	sum := 0
	for i := range s.VMs {
		sizes = append(sizes, x.vms[i].vm.VCPUs)
		sum += sizes[i]
	}
	slices.Sort(sizes)
	top := 0
	for _, n := range sizes[len(sizes)*9/10:] {
		top += n
	}
	if part := float64(top) / float64(sum); part < .3 {
		t.Errorf("a tenth of the VMs has %.2f of the vCPUs", part)
	}
	if median, largest := sizes[len(sizes)/2], sizes[len(sizes)-1]; median > 2 || largest < 16*median {
		t.Errorf("median %d vCPUs, largest %d", median, largest)
	}
	// The share of VMs that are larger falls as a power of the size, not faster.
	above := func(n int) float64 {
		at, _ := slices.BinarySearch(sizes, n)
		return float64(len(sizes)-at) / float64(len(sizes))
	}
	if slope := math.Log(above(4)/above(32)) / math.Log(8); slope < 1 || slope > 2.5 {
		t.Errorf("the tail falls with the power %.2f", slope)
	}
}

// The VMs of a cluster are the first ones of its trace.
func TestClusterIsTheTraceAtAMinute(t *testing.T) {
	s := Typical(8, 9)
	x := newTrace(s)
	c := x.cluster()
	for i := range c.VMs {
		if got, want := c.VMs[i].Name, x.vms[i].vm.Name; got != want {
			t.Fatalf("VM %d is %s and %s", i, got, want)
		}
		if got, want := c.VMs[i].Demand.Dirty, x.sample(i, s.Minute).Dirty; got != want {
			t.Errorf("VM %d writes %d and %d bytes/s", i, got, want)
		}
		if n := c.VMs[i].Demand.CPU.Count; n != seenMinutes/seenEvery+1 {
			t.Errorf("VM %d was seen %d times", i, n)
		}
	}
	if len(c.Rules) == 0 || c.Hosts[0].Memory <= 0 {
		t.Error("no rules, or no memory")
	}
}

func TestStorage(t *testing.T) {
	s := Typical(4, 3)
	s.Datastores = 5
	c, _ := Cluster(s)
	inv := Storage(c, 7)
	if err := inv.Validate(); err != nil {
		t.Fatal(err)
	}
	if len(inv.VMs) != len(c.VMs) || len(inv.Policies) != 7 || len(inv.Datastores) != len(c.Datastores) {
		t.Errorf("%d VMs, %d policies, %d datastores", len(inv.VMs), len(inv.Policies), len(inv.Datastores))
	}
	if none := Storage(c, 0); len(none.VMs) != 0 || len(none.Policies) != 0 {
		t.Errorf("without policies: %d VMs", len(none.VMs))
	}
}
