package balance

import (
	"fmt"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/clustertest"
)

// The figures of a move that is refused because moves off its host save too little show that.
func TestTooLittleIsLess(t *testing.T) {
	var together, atMost, each int
	for seed := range uint64(400) {
		c := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: 4, VMs: 15 + int(seed%4)*15, Load: .4 + float64(seed%7)/10, Placed: true})
		c.Settings.Model, c.Settings.Level = [...]cluster.Model{cluster.ByDeviation, cluster.ByScore}[seed%2], 3
		for _, r := range plan(c).Refused {
			var host string
			var saves, requires, level int64
			if n, _ := fmt.Sscanf(r.Why, "no move off %s would save %d MHz, and level %d requires %d of all together", &host, &saves, &level, &requires); n == 4 {
				each++
				if r.Value.Gain >= saves*r.Value.Stable {
					t.Errorf("seed %d: %q, and it saves %d", seed, r.Why, r.Value.Gain/r.Value.Stable)
				}
				continue
			}
			if n, _ := fmt.Sscanf(r.Why, "all moves off %s together would save %d MHz at most, and level %d requires %d", &host, &saves, &level, &requires); n == 4 {
				atMost++
			} else if n, _ := fmt.Sscanf(r.Why, "all moves off %s together would save %d MHz, and level %d requires %d", &host, &saves, &level, &requires); n == 4 {
				together++
			} else {
				continue
			}
			if saves >= requires {
				t.Errorf("seed %d: %q", seed, r.Why)
			}
		}
	}
	if together == 0 || atMost == 0 || each == 0 {
		t.Errorf("%d, %d and %d reasons of each kind: the test sees too little", together, atMost, each)
	}
	t.Log(together, atMost, each)
}
