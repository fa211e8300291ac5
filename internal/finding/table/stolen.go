package table

import (
	"math"

	"plimsoll/internal/measure"
)

// Stolen is the share of the CPU time wanted that the hypervisor gave to others, and the CPUs wanted, by arm and block; of two trials of an
// arm in a block, the mean.
func (t *Table) Stolen() (shares, wanted [][]float64) {
	share, demand := Column{Values: make([]float64, len(t.Valid))}, Column{Values: make([]float64, len(t.Valid))}
	for i := range t.Valid {
		share.Values[i], demand.Values[i] = measure.Stolen(&t.Valid[i])
	}
	same := func(x float64) float64 { return x }
	return t.Cells(&share, same), t.Cells(&demand, same)
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
