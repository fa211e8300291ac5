package doctor

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/clustertest"
)

// VMs of a pool share its limit: two demand 9,000 MHz each and one 1,000, of 9,000 in all, so
// that the two get 4,000.
func TestEntitledToLess(t *testing.T) {
	c := clustertest.Sound()
	c.Pools[1].CPU.Limit = 9000
	for v, asks := range []float64{9000, 9000, 1000} {
		c.VMs[v].Demand.CPU = cluster.Steady(asks)
	}
	r := Look(c, advice.Options{})
	if len(r.Short) != 2 || r.Shorter != 0 || r.Short[0].VM != "a-1" || r.Short[0].Entitled.CPU != 4000 || r.Short[1].Demand.CPU != 9000 {
		t.Errorf("%+v", r.Short)
	}
	if h := r.Hosts[0]; math.Abs(h.CPU[0]-11000./40000) > 1e-9 || math.Abs(h.Entitled[0]-6000./40000) > 1e-9 {
		t.Errorf("%+v", h)
	}
	if len(r.Pools) != 3 || r.Pools[1].Entitled.CPU != 9000 {
		t.Errorf("%+v", r.Pools)
	}
	c.Pools[1].CPU.Limit = cluster.Unlimited
	if r := Look(c, advice.Options{}); len(r.Short) > 0 {
		t.Errorf("nothing is short: %+v", r.Short)
	}
}

func TestTheSameClusterTheSameBytes(t *testing.T) {
	for seed := range uint64(4) {
		var first []byte
		for range 5 {
			var b bytes.Buffer
			c := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: 6, VMs: 60, Rules: 20, Pools: 8, Load: .9, Placed: true})
			if err := Look(c, advice.Options{}).Lines(&b); err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = b.Bytes()
			}
			if !bytes.Equal(first, b.Bytes()) {
				t.Fatalf("seed %d: once\n%s\nand then\n%s", seed, first, b.Bytes())
			}
		}
	}
}

// Many pools with the same problem make one warning.
func TestWarningsOfManyPoolsAreGathered(t *testing.T) {
	c := clustertest.Sound()
	for i := range 40 {
		p := c.Pools[1]
		p.Name, p.CPU.Limit, p.CPU.Shares = fmt.Sprintf("pool-%d", i), 1000, int64(5000+i)
		c.Pools = append(c.Pools, p)
		for n := range 2 {
			v := c.VMs[0]
			v.Name, v.Pool = fmt.Sprintf("vm-%d-%d", i, n), cluster.PoolID(len(c.Pools)-1)
			c.VMs = append(c.VMs, v)
		}
	}
	c.VMs[3].Pool = 1 // bronze has two VMs, as many as each of the others
	c.VMs[4].Pool = 1
	kinds := map[string]int{}
	for _, w := range Look(c, advice.Options{}).Warnings {
		kinds[w.Kind]++
		if w.Kind == "priority pie" && (len(w.Pools) != 40 || slices.Contains(w.Pools, "bronze")) {
			t.Errorf("%q", w.Pools)
		}
	}
	if kinds["priority pie"] != 1 || kinds["pool limit"] != 1 {
		t.Errorf("%v", kinds)
	}
}

// An empty cluster, or hosts of no size, are reported.
func TestNothingToTell(t *testing.T) {
	bare := clustertest.Sound()
	bare.VMs = nil
	none := *bare
	none.Hosts = nil
	flat := clustertest.Sound()
	for h := range flat.Hosts {
		flat.Hosts[h].Memory, flat.Hosts[h].MHz, flat.Hosts[h].NIC = 0, 0, 0
	}
	for name, c := range map[string]*cluster.Cluster{"no VMs": bare, "no hosts": &none, "hosts of no size": flat} {
		var b bytes.Buffer
		r, _, err := (&Ledger{}).Look(c, "")
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Text(&b); err != nil || !bytes.HasPrefix(b.Bytes(), []byte("sound: ")) || bytes.Contains(b.Bytes(), []byte("NaN")) {
			t.Errorf("%s: %v\n%s", name, err, b.Bytes())
		}
		sameSaid(t, r)
	}
}
