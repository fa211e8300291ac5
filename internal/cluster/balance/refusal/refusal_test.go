package refusal

import (
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/balance/draft"
	"plimsoll/internal/cluster/balance/worth"
	"plimsoll/internal/cluster/clustertest"
)

// A host that is skipped because of the bound of its offers has no better offer.
func TestBiddersBoundTheirOffers(t *testing.T) {
	offers, tight := 0, 0
	for seed := range uint64(80) {
		c := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: 6, VMs: 30 + int(seed)*2, Rules: int(seed % 7), Load: .4 + float64(seed%8)/10, Placed: true})
		c.Settings.Model = [...]cluster.Model{cluster.ByDeviation, cluster.ByScore}[seed%2]
		c.Settings.CostBenefit = seed%5 != 0
		l, x := clustertest.Layout(c)
		d := draft.New(l, x, advice.Options{})
		for _, b := range bidders(d) {
			for _, o := range worth.Offers(d, b.from, nil, anyOffer) {
				offers++
				if o.Merit > b.most {
					t.Fatalf("seed %d, %s: host %d offers %d, above its bound of %d", seed, c.Settings.Model, b.from, o.Merit, b.most)
				}
				if 2*o.Merit >= b.most {
					tight++
				}
			}
		}
	}
	if offers < 1000 || tight == 0 {
		t.Errorf("%d offers, %d of at least half of the bound: the test sees too little", offers, tight)
	}
}
