package draft

import (
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/cluster/migrate"
	"plimsoll/internal/cluster/place"
)

// The migration of a VM that is skipped because of its memory would not have ended in time.
func TestWindow(t *testing.T) {
	var missed, late, ends int
	for seed := range uint64(40) {
		c := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: 6, VMs: 90, Rules: int(seed % 3), Load: .7, Placed: true})
		for h := range c.Hosts {
			c.Hosts[h].NIC = []int64{100_000_000, 1_000_000_000, 10_000_000_000}[(uint64(h)+seed)%3]
		}
		for v := range c.VMs {
			c.VMs[v].Demand.Dirty = int64(v%5) * 200_000
		}
		l, x := clustertest.Layout(c)
		d := New(l, x, advice.Options{Interval: []int64{0, 20, 1000}[seed%3]})
		d.Balancing()
		for h := range d.Clock.busy {
			d.Clock.busy[h] = int64((uint64(h)*7+seed)%9) * d.Clock.Interval()
		}
		for v := range c.VMs {
			s := place.Step{VM: cluster.VMID(v), From: l.Host(cluster.VMID(v))}
			vm := &c.VMs[v] // the only one of its unit
			for h := range c.Hosts {
				if s.To = cluster.HostID(h); s.From == s.To || s.From == cluster.Nowhere {
					continue
				}
				misses, inTime := d.Clock.Window(s.From, s.To).Misses(vm.Memory, vm.Demand.Dirty), d.Clock.InTime(d.Units.Alone(s.VM), s)
				if copied := migrate.CopyTime(c, s) > 0; misses && inTime && copied {
					t.Fatalf("seed %d, %+v: passed over, and ends in time", seed, s)
				}
				switch {
				case misses:
					missed++
				case inTime:
					ends++
				default:
					late++
				}
			}
		}
	}
	t.Logf("%d passed over, %d late after a closer look, %d end in time", missed, late, ends)
	if missed < late || ends == 0 {
		t.Errorf("%d passed over, %d late after a closer look, %d end in time", missed, late, ends)
	}
}
