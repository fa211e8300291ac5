package place

import (
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/clustertest"
)

// If hosts are proved to have room for all VMs of one, packing leaves none without a host; the
// proof succeeds where it matters.
func TestAmpleRoomIsFoundByPacking(t *testing.T) {
	ample, said, short := 0, 0, 0
	for seed := range uint64(400) {
		n := 4 + int(seed%12)
		c := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: n, VMs: n * (4 + int(seed%9)), Rules: int(seed%5) * 2, Load: .6, Placed: true})
		for v := range c.VMs {
			c.VMs[v].Mem.Reservation = c.VMs[v].Memory * int64(seed%6) / 5
			c.VMs[v].CPU.Reservation = int64(c.VMs[v].VCPUs) * 150 * int64(seed%7)
		}
		full := cluster.NewLayout(c, cluster.NewIndex(c))
		for h := range c.Hosts {
			host, has := &c.Hosts[h], full.Reserved(cluster.HostID(h))
			host.Memory = host.Overhead.Memory + has.Memory*int64(11+seed%9)/10
			host.Overhead.CPU += max(0, host.Capacity().CPU-has.CPU*int64(11+seed%7)/10)
		}
		p, l := placer(c)
		hosts := p.failover.emptiest()
		for f := range c.Hosts {
			id := cluster.HostID(f)
			_, without, _ := p.failover.restartOn(hosts, id)
			sure, _ := p.failover.ample(id, hosts)
			if sure {
				said++
			}
			if len(without) == 0 {
				ample++
			} else {
				short++
			}
			if sure && len(without) > 0 {
				t.Errorf("seed %d, host %d with %d VMs: %d find no host", seed, f, len(l.On(id)), len(without))
			}
		}
	}
	if said < 500 || short < 100 {
		t.Errorf("said %d times of %d, and %d were short: the test sees too little", said, ample, short)
	}
	t.Logf("said %d times of %d, and %d were short", said, ample, short)
}
