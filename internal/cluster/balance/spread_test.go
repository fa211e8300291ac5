package balance

import (
	"testing"

	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/cluster/generate"
	"plimsoll/internal/effort"
)

// Where the spread alone decides, the loads of hosts differ no more than at the finest level
// with cost-benefit.
func TestTheSpreadAloneEndsNoWorseThanLevel5(t *testing.T) {
	worse, all := 0, 0
	for seed := range uint64(effort.Of(60)) {
		hosts := 4 + int(seed%9)
		c := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: hosts, VMs: hosts * (4 + int(seed%9)), Rules: int(seed % 5), Load: .6 + float64(seed%5)/12, Placed: true})
		if seed%2 == 0 {
			c, _ = generate.Cluster(generate.Typical(hosts, seed))
		}
		most := func(level int, costBenefit bool) int64 {
			c.Settings.Level, c.Settings.CostBenefit = level, costBenefit
			l, x := layout(c)
			for range 6 {
				for _, m := range Round(l, x, advice.Options{}).Moves {
					l.Move(m.VM, m.To)
				}
			}
			return Round(l, x, advice.Options{}).Before.Spread.Max()
		}
		all++
		if alone, judged := most(3, false), most(5, true); alone > max(judged, 50_000) {
			worse++
			t.Errorf("seed %d: hosts lie %.1f points apart without cost-benefit, %.1f at level 5", seed, advice.Points(alone), advice.Points(judged))
		}
	}
	t.Logf("worse in %d of %d", worse, all)
}
