package draft

import (
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/clustertest"
)

// The score of a VM is computed from its definition, for each part of the loss.
func TestScoreOfOneVM(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*cluster.Cluster)
		want   int64 // per mille of its demand
	}{
		{"nothing in its way", func(*cluster.Cluster) {}, 1000},
		{"80 per cent of CPU: a quarter above 48", func(c *cluster.Cluster) { c.VMs[0].Demand.CPU = cluster.Steady(8000) }, 920},
		{"80 per cent at level 4: a quarter above 28", func(c *cluster.Cluster) {
			c.VMs[0].Demand.CPU, c.Settings.Level = cluster.Steady(8000), 4
		}, 870},
		{"an eighth of memory that does not fit", func(c *cluster.Cluster) {
			c.Hosts[0].Memory = 8 << 30
			c.VMs[0].Memory, c.VMs[0].Overhead, c.VMs[0].Demand.Active = 16<<30, 0, cluster.Steady(9<<30)
		}, 500},
		{"a link that is nine tenths full", func(c *cluster.Cluster) { c.VMs[0].Demand.Link = 9_000_000_000 }, 975},
		{"a third of its vCPUs on another node", func(c *cluster.Cluster) {
			c.Hosts[0].NodesPerSocket, c.Hosts[0].CoresPerNode, c.VMs[0].VCPUs = 2, 6, 9
		}, 917},
		{"half of its memory on another node", func(c *cluster.Cluster) {
			c.Hosts[0].NodesPerSocket, c.Hosts[0].CoresPerNode, c.Hosts[0].Memory, c.VMs[0].Memory = 2, 8, 64<<30, 64<<30
		}, 875},
		{"both CPU and remote memory", func(c *cluster.Cluster) {
			c.Hosts[0].NodesPerSocket, c.Hosts[0].CoresPerNode, c.Hosts[0].Memory, c.VMs[0].Memory = 2, 5, 64<<30, 64<<30
			c.VMs[0].Demand.CPU = cluster.Steady(8000)
		}, 805}, // 0.92 of 0.875
		{"a host that failed", func(c *cluster.Cluster) { c.Hosts[0].State = cluster.Failed }, 0},
	} {
		cl := clustertest.Plain([]float64{1000})
		cl.Settings.Model = cluster.ByScore
		c.change(cl)
		l, x := clustertest.Layout(cl)
		d := New(l, x, advice.Options{})
		if got := d.Score(); (got+500)/1000 != c.want {
			t.Errorf("%s: the cluster scores %d, want %d per mille", c.name, got, c.want)
		}
		if got := d.ScoreOf(d.Units.Alone(0), 0, d.Hosts[0].Loss); cl.Hosts[0].Runs() && (got+500)/1000 != c.want {
			t.Errorf("%s: the VM scores %d, want %d per mille", c.name, got, c.want)
		}
	}
}
