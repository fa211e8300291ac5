package cluster_test

import (
	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/cluster/migrate"
	"plimsoll/internal/cluster/place"
	"testing"
)

func TestLimitsOfAHost(t *testing.T) {
	for _, c := range []struct {
		nic  int64
		m    migrate.Limits
		want int
	}{
		{100_000_000, migrate.Limits{}, 2}, {1_000_000_000, migrate.Limits{}, 4}, {9_000_000_000, migrate.Limits{}, 4}, {10_000_000_000, migrate.Limits{}, 8}, {100_000_000_000, migrate.Limits{}, 8},
		{10_000_000_000, migrate.Limits{Host: 3}, 3}, {1_000_000_000, migrate.Limits{Host: 20}, 4},
	} {
		if got := c.m.Of(&cluster.Host{NIC: c.nic}); got != c.want {
			t.Errorf("%d bit/s and %+v: %d, want %d", c.nic, c.m, got, c.want)
		}
	}
}

// Migrations that share a link take longer together than alone, because of memory dirtied
// meanwhile.
func TestSharedLink(t *testing.T) {
	c := clustertest.Plain([]float64{1000}, nil)
	s := place.Step{VM: 0, From: 0, To: 1}
	c.VMs[0].Memory, c.VMs[0].Demand.Dirty = 100_000_000_000, 0
	if one, four := migrate.Shared(c, s, 1), migrate.Shared(c, s, 4); one != 100 || four != 400 || one != migrate.CopyTime(c, s) {
		t.Errorf("%d s alone, %d s with three others", one, four)
	}
	c.VMs[0].Demand.Dirty = 125_000_000
	if four := migrate.Shared(c, s, 4); four != 800 {
		t.Errorf("%d s", four)
	}
	c.VMs[0].Demand.Dirty = 500_000_000 // more than its share of the link
	if four := migrate.Shared(c, s, 4); four != 4*200 {
		t.Errorf("%d s", four)
	}
	c.VMs[0].Demand.Dirty = 1_000_000_000
	if got := migrate.Shared(c, s, 4); got != 0 {
		t.Errorf("%d s for one that never ends", got)
	}
}
