package table

import (
	"math"

	"plimsoll/internal/measure"
	"plimsoll/internal/stat"
)

// Stolen is the CPU time that the hypervisor gave to others, by arm and block; of two trials of an arm in a block, the mean.
func (t *Table) Stolen() [][]stat.Covariate {
	shares, wanted := Column{Values: make([]float64, len(t.Valid))}, Column{Values: make([]float64, len(t.Valid))}
	for i := range t.Valid {
		shares.Values[i], wanted.Values[i] = measure.Stolen(&t.Valid[i])
	}
	same := func(x float64) float64 { return x }
	share, demand := t.Cells(&shares, same), t.Cells(&wanted, same)
	all := make([][]stat.Covariate, t.Arms)
	for arm := range all {
		all[arm] = make([]stat.Covariate, len(t.Blocks))
		for b := range all[arm] {
			all[arm][b] = stat.Covariate{Share: share[arm][b], Demand: demand[arm][b]}
		}
	}
	return all
}

// StolenIn is the CPU time that the hypervisor gave to others in each trial of Sample, as its share and the CPUs wanted; nil if there was
// none.
func (t *Table) StolenIn(col *Column, arm int) (shares, wanted []float64) {
	some := false
	for _, i := range t.Of[arm] {
		if !math.IsNaN(col.Values[i]) {
			share, of := measure.Stolen(&t.Valid[i])
			shares, wanted, some = append(shares, share), append(wanted, of), some || share > 0
		}
	}
	if !some {
		return nil, nil
	}
	return shares, wanted
}
